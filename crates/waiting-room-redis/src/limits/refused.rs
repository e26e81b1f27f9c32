//! A negative cache of recent refusals, so that a node can repeat them without the store.
//!
//! Most of the work of a limiter is caused by clients that exceed their limits and keep sending
//! requests. The node itself refuses such a request until the store could allow it.
//!
//! A refusal counts from two different times, because the node knows only that the store decided at
//! some instant between them:
//!
//! ```text
//!       sent                received
//!  ───────●────────────────────●──────────────────────────────────────────► time
//!         ├── retry_after ─────┼─────────┤  the node refuses until here
//!                              ├── retry_after ─────────────────┤  the client's retry time
//! ```
//!
//! The number of entries is fixed, and the hash of a key determines its entry. If another key
//! overwrites an entry, the only cost is a round trip.

use std::{sync::Mutex, time::Duration};

use waiting_room_core::{
    Timestamp,
    rate::{Algorithm, ChargeReply, ChargeRequest, Decision, KeyHasher, Refusals},
};

use crate::sync::unpoisoned;

/// The refusals that a node remembers.
#[derive(Debug)]
pub(super) struct Refused(Box<[Mutex<Option<KnownRefusal>>]>);

/// One remembered refusal. All times are on this node's own clock.
#[derive(Clone, Copy, Debug)]
struct KnownRefusal {
    /// A hash of the limit, its tier and its quota.
    policy: u64,
    /// The hash of the client key.
    key: u64,
    /// The cost that was refused. A request with a different cost may be allowed.
    cost: u64,
    limit: u64,
    remaining: u64,
    /// The time until which the store would also refuse the request, if this node's clock is no
    /// slower than [`DRIFT`] permits.
    until: Timestamp,
    /// The time at which `remaining` increases, counted from the arrival of the reply, so that no
    /// client comes back too early.
    reset_at: Timestamp,
    /// The time at which the cost is allowed, counted from the arrival of the reply.
    retry_at: Timestamp,
}

impl Refused {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| Mutex::default()).collect())
    }

    /// Refuses a request if one of its limits is known to refuse it. Returns `None` if the store
    /// has to decide.
    ///
    /// The replies contain a decision for each limit that is known to refuse, and no decision for
    /// the other limits.
    pub(super) fn refuse(
        &self,
        asks: &[ChargeRequest],
        now: Timestamp,
    ) -> Option<Vec<ChargeReply>> {
        // A log that counts refusals has to record every request, whichever limit refuses it.
        if asks.iter().any(counts_refusals) {
            return None;
        }
        let decide = |ask| self.decide(ask, now);
        asks.iter().find_map(decide)?;
        let reply = |ask| {
            decide(ask)
                .map_or_else(ChargeReply::default, |decision| ChargeReply::new(decision, None))
        };
        Some(asks.iter().map(reply).collect())
    }

    /// Remembers the refusals in the replies to a call, for at most `longest`.
    ///
    /// `sent` and `received` are the times of the call and of its reply.
    pub(super) fn remember(
        &self,
        asks: &[ChargeRequest],
        replies: &[ChargeReply],
        (sent, received): (Timestamp, Timestamp),
        longest: Duration,
    ) {
        for (ask, reply) in asks.iter().zip(replies).filter(|(ask, _)| can_be_remembered(ask)) {
            if let Some(decision) = &reply.decision
                && !decision.allowed
                && let Some(retry_after) = decision.retry_after
            {
                // After `reset`, the refusal may still apply, but its `remaining` would be out of
                // date.
                let lasts = retry_after.min(decision.reset).min(longest);
                let entry = KnownRefusal {
                    policy: policy(ask),
                    key: ask.key.as_u64(),
                    cost: ask.cost,
                    limit: decision.limit,
                    remaining: decision.remaining,
                    until: sent + (lasts - lasts / DRIFT),
                    reset_at: received + decision.reset,
                    retry_at: received + retry_after,
                };
                *unpoisoned(self.place(ask).lock()) = Some(entry);
            }
        }
    }

    /// Returns the decision of one limit, if that limit is known to refuse.
    fn decide(&self, ask: &ChargeRequest, now: Timestamp) -> Option<Decision> {
        if !can_be_remembered(ask) {
            return None;
        }
        let entry = (*unpoisoned(self.place(ask).lock()))?;
        let is_same = entry.key == ask.key.as_u64()
            && entry.cost == ask.cost
            && entry.limit == ask.quota().capacity()
            && entry.policy == policy(ask);
        (is_same && now < entry.until).then(|| {
            let reset = entry.reset_at.since(now);
            let retry = entry.retry_at.since(now);
            Decision::new(entry.limit, entry.remaining, reset, Some(retry))
        })
    }

    /// Returns the entry of a limit and a key. The hash of the key includes a secret, so clients
    /// cannot choose keys that share an entry.
    fn place(&self, ask: &ChargeRequest) -> &Mutex<Option<KnownRefusal>> {
        let place = (ask.key.as_u64() ^ policy(ask)) % self.0.len() as u64;
        &self.0[usize::try_from(place).expect("the index is smaller than a length")]
    }
}

/// Returns whether a refusal by this limit remains valid until its `retry_after`.
///
/// A soft limit does not refuse requests, and a log that counts refusals has to record each
/// refusal. A limit whose charges may be refunded can allow a request earlier than it has stated.
fn can_be_remembered(ask: &ChargeRequest) -> bool {
    !ask.is_soft && !counts_refusals(ask) && !ask.policy.is_adjustable()
}

/// Returns whether a refusal changes the state of this limit.
fn counts_refusals(ask: &ChargeRequest) -> bool {
    ask.policy.algorithm() == Algorithm::SlidingLog(Refusals::Count)
}

/// Returns a hash of a limit, its tier and its quota, so that a refusal becomes void when the quota
/// changes.
fn policy(ask: &ChargeRequest) -> u64 {
    let policy = (ask.policy.name(), ask.policy.tier(ask.tier), ask.quota());
    KeyHasher::shared([0, 0]).hash(&policy).as_u64()
}

/// The maximum number of refusals that a node remembers, in about 1.5 MB of memory.
const PLACES: usize = 1 << 14;
/// The longest time for which a refusal is remembered, so that an operator's changes, such as a
/// higher limit or the deletion of a key's state, take effect soon.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
/// The reciprocal of the tolerated clock error: a node's clock may be slow by one part in 1 000.
pub(super) const DRIFT: u32 = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use waiting_room_core::{Quota, rate::RatePolicy};

    use super::*;

    const SENT: Timestamp = Timestamp::from_secs(1_000);
    const MILLI: Duration = Duration::from_millis(1);

    fn ask(key: u64) -> ChargeRequest {
        let quota = [Quota::per_minute(10)];
        let policy = RatePolicy::new("per_ip", Algorithm::Gcra, quota);
        ChargeRequest::new(Arc::new(policy), KeyHasher::shared([3, 1]).hash(&key), 0, 1)
    }

    /// Records a refusal whose reply took 20 ms.
    fn refuse(refused: &Refused, ask: &ChargeRequest, reset: Duration, retry_after: Duration) {
        let decision = Decision::new(10, 0, reset, Some(retry_after));
        let reply = ChargeReply::new(decision, None);
        let between = (SENT, SENT + 20 * MILLI);
        refused.remember(std::slice::from_ref(ask), &[reply], between, LONGEST);
    }

    fn said(refused: &Refused, ask: &ChargeRequest, after: Duration) -> Option<Decision> {
        refused.refuse(std::slice::from_ref(ask), SENT + after)?[0].decision
    }

    #[test]
    fn a_remembered_refusal_allows_for_the_uncertain_time_of_its_decision() {
        let refused = Refused::new();
        let ann = ask(1);
        let second = Duration::from_secs(1);
        refuse(&refused, &ann, second, second);
        let told = said(&refused, &ann, 500 * MILLI).unwrap();
        assert_eq!(told.retry_after, Some(520 * MILLI));
        assert_eq!(told.reset, 520 * MILLI);
        // On a clock that is slow by a thousandth, a full second has then passed.
        assert!(said(&refused, &ann, 998 * MILLI).is_some());
        assert_eq!(said(&refused, &ann, 999 * MILLI), None);
    }

    #[test]
    fn a_remembered_refusal_lasts_at_most_as_long_as_its_numbers_allow() {
        let refused = Refused::new();
        let ann = ask(1);
        let bob = ask(2);
        refuse(&refused, &ann, Duration::from_secs(2), Duration::from_secs(6));
        assert!(said(&refused, &ann, 1_990 * MILLI).is_some());
        assert_eq!(said(&refused, &ann, 2_000 * MILLI), None);
        refuse(&refused, &bob, Duration::from_secs(3_600), Duration::from_secs(3_600));
        let told = said(&refused, &bob, Duration::from_secs(9)).unwrap();
        assert_eq!(told.retry_after, Some(Duration::from_secs(3_591) + 20 * MILLI));
        assert_eq!(said(&refused, &bob, Duration::from_secs(10)), None);
    }

    #[test]
    fn no_key_is_refused_in_the_place_of_another() {
        let refused = Refused::new();
        let second = Duration::from_secs(1);
        for key in 0..3 * PLACES as u64 {
            refuse(&refused, &ask(key), second, second);
        }
        let known = |key: &u64| said(&refused, &ask(*key), Duration::ZERO).is_some();
        let of_refused = (0..3 * PLACES as u64).filter(known).count();
        assert!(of_refused > PLACES / 2 && of_refused <= PLACES, "{of_refused}");
        assert_eq!((1 << 40..(1 << 40) + 50_000).filter(known).count(), 0);
        let mut more = ask(3 * PLACES as u64 - 1);
        more.cost = 2;
        assert_eq!(said(&refused, &more, Duration::ZERO), None);
    }
}
