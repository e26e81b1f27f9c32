//! A limiter's decisions for a key equal those of its meter for the key's state.

use std::time::Duration;

use crate::{
    Limiter, Quota, Timestamp,
    rate::{Algorithm, Gcra, KeyHasher, LeakyQueue, Meter, TokenBucket},
};

#[test]
fn a_limiter_describes_a_check_as_its_meter_does() {
    let quota = Quota::per_minute(3);
    describes_as(&Gcra::new(&quota), Algorithm::Gcra, quota);
    describes_as(&LeakyQueue::new(&quota), Algorithm::LeakyQueue, quota);
    describes_as(&TokenBucket::new(&quota), Algorithm::TokenBucket, quota);
}

fn describes_as<M: Meter>(meter: &M, algorithm: Algorithm, quota: Quota) {
    let limiter = Limiter::new(algorithm, &[quota], 10).unwrap();
    let key = KeyHasher::new([3, 1, 4, 1]).hash("ann");
    let mut state = M::State::default();
    let mut now = Timestamp::from_secs(1_000);
    for cost in [1, 2, 1, 0, 3, 4, 1] {
        let said = limiter.charge(key, 0, cost, now).map(|(decision, _)| decision);
        let expected = meter.check(&mut state, cost, now).map(|(decision, _)| decision);
        assert_eq!(said, expected, "{algorithm:?}, {cost} at {now:?}");
        now = now + Duration::from_secs(7);
    }
}

#[test]
fn a_quota_is_replenished_in_its_window_or_as_fast_as_its_burst() {
    let seconds = Duration::from_secs;
    assert_eq!(Quota::new(7, seconds(10)).replenished_in(), seconds(10));
    assert_eq!(Quota::new(5, seconds(10)).burst(20).replenished_in(), seconds(40));
    assert_eq!(Quota::new(0, seconds(10)).burst(20).replenished_in(), seconds(10));
}
