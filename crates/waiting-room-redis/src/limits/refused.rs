//! Who was refused lately, so that the store need not be asked to refuse it again.
//!
//! A client that is over its limit and does not stop is most of what a limiter has to do. Until the
//! store may allow it, its node refuses it by itself. There is a fixed number of places, one for
//! each hash: who is crowded out is refused by the store.

use std::{sync::Mutex, time::Duration};

use waiting_room_core::{
    Algorithm, ChargeReply, ChargeRequest, Decision, KeyHasher, Refusals, Timestamp,
};

use crate::sync::unpoisoned;

/// The refusals that are remembered.
#[derive(Debug)]
pub(super) struct Refused(Box<[Mutex<Option<Entry>>]>);

/// A refusal.
#[derive(Clone, Copy, Debug)]
struct Entry {
    policy: u64,
    key: u64,
    /// This much was refused.
    cost: u64,
    limit: u64,
    remaining: u64,
    /// Until then the store refuses it too, by any clock that is not slower than [`DRIFT`] says.
    until: Timestamp,
    /// When the numbers are another: reckoned from the reply, so that nobody is told too early.
    reset_at: Timestamp,
    retry_at: Timestamp,
}

impl Refused {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| Mutex::default()).collect())
    }

    /// Refuses all that is asked, if one of the limits is known to.
    pub(super) fn refuse(
        &self,
        asks: &[ChargeRequest],
        now: Timestamp,
    ) -> Option<Vec<ChargeReply>> {
        // Where refusals count, the store has to hear of each, whoever refuses.
        if asks.iter().any(counts_refusals) {
            return None;
        }
        let decide = |ask| self.decide(ask, now);
        asks.iter().find_map(decide)?;
        let reply =
            |ask| decide(ask).map_or_else(ChargeReply::default, |it| ChargeReply::new(it, None));
        Some(asks.iter().map(reply).collect())
    }

    /// Remembers what was refused between these times, for no longer than this.
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
                let lasts = retry_after.min(decision.reset).min(longest);
                let entry = Entry {
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

    /// What is known to be said about one limit.
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
            let (reset, retry) = (entry.reset_at.since(now), entry.retry_at.since(now));
            Decision::new(entry.limit, entry.remaining, reset, Some(retry))
        })
    }

    fn place(&self, ask: &ChargeRequest) -> &Mutex<Option<Entry>> {
        let place = (ask.key.as_u64() ^ policy(ask)) % self.0.len() as u64;
        &self.0[usize::try_from(place).expect("it is smaller than a length")]
    }
}

/// Whether a refusal of it stands until the time that it names. Where refusals count, each is for
/// the store; and what is given back may allow something earlier.
fn can_be_remembered(ask: &ChargeRequest) -> bool {
    !ask.is_soft && !counts_refusals(ask) && !ask.policy.is_adjustable()
}

fn counts_refusals(ask: &ChargeRequest) -> bool {
    ask.policy.algorithm() == Algorithm::SlidingLog(Refusals::Count)
}

/// Stands for a limit, its tier and its quota.
fn policy(ask: &ChargeRequest) -> u64 {
    let policy = (ask.policy.name(), ask.policy.tier(ask.tier), ask.quota());
    KeyHasher::shared([0, 0]).hash(&policy).as_u64()
}

/// So many refusals are remembered.
const PLACES: usize = 1 << 14;
/// For no longer than this, so that a limit that an operator has raised is in force soon.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
/// A node's clock may be slow by one part in so many.
pub(super) const DRIFT: u32 = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use waiting_room_core::{Quota, RatePolicy};

    use super::*;

    const SENT: Timestamp = Timestamp::from_secs(1_000);
    const MILLI: Duration = Duration::from_millis(1);

    fn ask(key: u64) -> ChargeRequest {
        let quota = [Quota::per_minute(10)];
        let policy = RatePolicy::new("per_ip", Algorithm::Gcra, quota);
        ChargeRequest::new(Arc::new(policy), KeyHasher::shared([3, 1]).hash(&key), 0, 1)
    }

    /// Refused for so long, by a reply that took 20 ms.
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
    fn a_refusal_ends_by_the_earliest_and_is_told_by_the_latest_time_it_can_have_been_made() {
        let (refused, ann) = (Refused::new(), ask(1));
        let second = Duration::from_secs(1);
        refuse(&refused, &ann, second, second);
        let told = said(&refused, &ann, 500 * MILLI).unwrap();
        assert_eq!(told.retry_after, Some(520 * MILLI));
        assert_eq!(told.reset, 520 * MILLI);
        // A clock that is slow by a thousandth has not told more than a second by then.
        assert!(said(&refused, &ann, 998 * MILLI).is_some());
        assert_eq!(said(&refused, &ann, 999 * MILLI), None);
    }

    #[test]
    fn it_lasts_no_longer_than_its_numbers_and_ten_seconds() {
        let (refused, ann, bob) = (Refused::new(), ask(1), ask(2));
        refuse(&refused, &ann, Duration::from_secs(2), Duration::from_secs(6));
        assert!(said(&refused, &ann, 1_990 * MILLI).is_some());
        assert_eq!(said(&refused, &ann, 2_000 * MILLI), None);
        refuse(&refused, &bob, Duration::from_secs(3_600), Duration::from_secs(3_600));
        let told = said(&refused, &bob, Duration::from_secs(9)).unwrap();
        assert_eq!(told.retry_after, Some(Duration::from_secs(3_591) + 20 * MILLI));
        assert_eq!(said(&refused, &bob, Duration::from_secs(10)), None);
    }

    #[test]
    fn however_many_are_refused_nobody_is_refused_in_the_place_of_another() {
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
