//! The orders in which requests arrived, were admitted, and were completed.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;

/// Numbers requests in front of the gate, and records the numbers behind it.
#[derive(Debug, Default)]
pub(crate) struct Order {
    arrived: AtomicU64,
    let_in: Mutex<Vec<u64>>,
    finished: Mutex<Vec<u64>>,
}

/// The number of a request in front of the gate: the number of requests before it.
#[derive(Clone, Copy, Debug)]
struct Arrived(u64);

/// A request that was admitted, and the time of its admission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LetIn {
    number: u64,
    pub(crate) at: Instant,
}

/// How much a sequence differs from the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overtaking {
    /// The number of requests that were overtaken by a later one.
    pub(crate) overtaken: usize,
    /// The highest number of later requests that overtook one request.
    pub(crate) by_at_most: usize,
}

impl Order {
    /// Records that the conversion of a request is complete.
    pub(crate) fn finish(&self, request: LetIn) {
        note(&self.finished, request.number);
    }

    /// Compares the order of admission with the order of arrival.
    pub(crate) fn of_those_let_in(&self) -> Overtaking {
        Overtaking::in_sequence(&self.let_in.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Compares the order of completion with the order of arrival.
    pub(crate) fn of_those_finished(&self) -> Overtaking {
        Overtaking::in_sequence(&self.finished.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The middleware in front of the gate, which numbers requests.
pub(crate) async fn arrive(
    State(order): State<Arc<Order>>,
    mut request: Request,
    next: Next,
) -> Response {
    let number = order.arrived.fetch_add(1, Ordering::Relaxed);
    request.extensions_mut().insert(Arrived(number));
    next.run(request).await
}

/// The middleware behind the gate. It runs before the body of a request is read.
pub(crate) async fn let_in(
    State(order): State<Arc<Order>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(&Arrived(number)) = request.extensions().get() {
        note(&order.let_in, number);
        request.extensions_mut().insert(LetIn { number, at: Instant::now() });
    }
    next.run(request).await
}

fn note(numbers: &Mutex<Vec<u64>>, number: u64) {
    numbers.lock().unwrap_or_else(PoisonError::into_inner).push(number);
}

impl Overtaking {
    /// Compares a sequence of arrival numbers with the order of arrival. A missing number belongs
    /// to a request that was refused; it does not count as overtaken.
    fn in_sequence(numbers: &[u64]) -> Self {
        let mut before = BTreeSet::new();
        let mut overtaking = Self { overtaken: 0, by_at_most: 0 };
        for &number in numbers {
            let later = before.range(number..).count();
            overtaking.overtaken += usize::from(later > 0);
            overtaking.by_at_most = overtaking.by_at_most.max(later);
            before.insert(number);
        }
        overtaking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_finished_after_a_later_one_was_overtaken() {
        for (numbers, overtaken, by_at_most) in [
            (&[][..], 0, 0),
            (&[0, 1, 2, 3], 0, 0),
            (&[0, 2, 5, 9], 0, 0),
            (&[1, 0, 2, 3], 1, 1),
            (&[1, 2, 3, 0], 1, 3),
            (&[3, 2, 1, 0], 3, 3),
            (&[5, 1, 7, 6], 2, 1),
        ] {
            let expected = Overtaking { overtaken, by_at_most };
            assert_eq!(Overtaking::in_sequence(numbers), expected, "{numbers:?}");
        }
    }
}
