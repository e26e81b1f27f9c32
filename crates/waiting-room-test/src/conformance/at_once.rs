//! Visitors that enter in the same instant.

use std::{
    future::{Future, poll_fn},
    num::NonZeroU16,
    pin::Pin,
    task::Poll,
};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    RoomRules, Store, Timestamp, Verdict, VisitorId, room::Network, time::ManualClock,
};

use super::plan::Divergence;

/// Lets visitors enter a room with few slots in the same instant, and compares the number that is
/// admitted with the limits.
///
/// The calls are polled concurrently, so a store that first reads its state and then writes it,
/// with an `await` in between, admits too many.
///
/// # Errors
///
/// Returns an error if a call failed, if the number of admitted visitors differs from the number of
/// slots, or if the snapshot shows another number.
pub async fn run_at_once<S: Store>(
    seed: u64,
    mut build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
) -> Result<(), Divergence> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for step in 1..=ROUNDS {
        let slots = random.random_range(1..=8);
        let minute = random.random_range(1..=8);
        let rules = RoomRules::new("at-once", slots).new_users_per_minute(minute);
        let store = build(rules, ManualClock::new(START)).await;
        let ids: Vec<_> = (1..=VISITORS).map(|number| visitor(number, &mut random)).collect();
        let entering = ids.iter().map(|id| {
            let store = store.clone();
            let id = *id;
            Box::pin(async move { store.enter(id).await }) as Pin<Box<dyn Future<Output = _>>>
        });
        let verdicts = all(entering.collect()).await;
        let numbers = store.snapshot().await;
        let expected = slots.min(minute);
        let divergence = |given: String| Divergence {
            seed,
            step,
            command: format!(
                "{VISITORS} visitors enter at once, with {slots} slots and {minute} new visitors \
                 per minute"
            ),
            expected: format!("{expected} admitted, and {expected} active in the snapshot"),
            given,
        };
        let verdicts: Result<Vec<_>, _> = verdicts.into_iter().collect();
        let (verdicts, numbers) = match (verdicts, numbers) {
            (Ok(verdicts), Ok(numbers)) => (verdicts, numbers),
            (Err(error), _) | (_, Err(error)) => return Err(divergence(error.to_string())),
        };
        let is_in = |verdict: &&Verdict| matches!(verdict, Verdict::Admit { .. });
        let admitted = verdicts.iter().filter(is_in).count();
        if u32::try_from(admitted) != Ok(expected) || numbers.active != expected {
            let active = numbers.active;
            return Err(divergence(format!(
                "{admitted} admitted, and {active} active in the snapshot"
            )));
        }
    }
    Ok(())
}

/// Polls all futures until each is ready, and returns their outputs in order.
async fn all<T>(mut futures: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut outputs: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// Returns a visitor with a random id, from a network of its own.
fn visitor(number: u16, random: &mut Pcg64Mcg) -> VisitorId {
    VisitorId::new(random.random())
        .of_network(NonZeroU16::new(number).map(|wide| Network::new(wide, 0, 0)))
}

const ROUNDS: u64 = 4;
const VISITORS: u16 = 24;
const START: Timestamp = Timestamp::from_secs(1_700_000_000);
