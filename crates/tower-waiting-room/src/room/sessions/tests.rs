use std::time::Duration;

use super::*;

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn pass(who: u128, issued: Timestamp) -> Pass {
    Pass::new(VisitorId::new(who), 0, NOW, issued, issued + Duration::from_secs(90))
}

fn sessions() -> Arc<Sessions> {
    let clock = StageClock::new(|| NOW);
    Arc::new(Sessions::new(clock, Telemetry::new("shop".into())))
}

fn is_due(pass: &Pass) -> bool {
    pass.last_check_in == NOW
}

#[test]
fn one_of_many_stale_requests_renews_for_all() {
    let sessions = sessions();
    let old = pass(1, NOW);
    let Stale::Renew(renewing) = sessions.stale(&old, NOW, is_due) else { panic!("first") };
    assert!(matches!(sessions.stale(&old, NOW, is_due), Stale::GoOn));
    let new = pass(1, NOW + Duration::from_secs(10));
    renewing.renewed(new);
    assert!(matches!(sessions.stale(&old, NOW, is_due), Stale::Take(taken) if taken == new));
}

#[test]
fn a_renewal_that_was_dropped_is_tried_again() {
    let sessions = sessions();
    drop(sessions.stale(&pass(1, NOW), NOW, is_due));
    assert!(matches!(sessions.stale(&pass(1, NOW), NOW, is_due), Stale::Renew(_)));
}

#[test]
fn a_session_that_ends_during_its_renewal_stays_ended() {
    let sessions = sessions();
    let old = pass(1, NOW);
    let Stale::Renew(renewing) = sessions.stale(&old, NOW, is_due) else { panic!("first") };
    sessions.end(&old);
    renewing.renewed(pass(1, NOW + Duration::from_secs(10)));
    assert!(sessions.is_ended(&old));
}

#[test]
fn a_pass_of_a_visitor_that_has_moved_is_kept_unless_its_session_has_ended() {
    let sessions = sessions();
    let pass = pass(1, NOW);
    sessions.has_moved(pass);
    let mut later = pass;
    later.bucket = 7;
    sessions.has_moved(later);
    assert_eq!(sessions.renewed(pass.id, NOW, |_| false), Some(later));
    sessions.end(&pass);
    sessions.has_moved(pass);
    assert!(sessions.is_ended(&pass));
}

#[test]
fn a_later_session_of_the_same_visitor_is_not_ended() {
    let sessions = sessions();
    let old = pass(1, NOW);
    sessions.end(&old);
    let mut later = old;
    later.accepted_at = NOW + Duration::from_secs(1);
    assert!(sessions.is_ended(&old) && !sessions.is_ended(&later));
}

#[test]
fn expired_entries_are_forgotten_a_few_at_a_time() {
    let sessions = sessions();
    for who in 0..10_000 {
        let old = pass(who, NOW + Duration::from_secs(u64::try_from(who).unwrap()));
        if let Stale::Renew(renewing) = sessions.stale(&old, old.last_check_in, |_| true) {
            renewing.renewed(old);
        }
    }
    // One visitor comes per second, and a pass lasts 90 s, so the last 90 passes are still valid.
    assert_eq!((sessions.known.len(), sessions.due.lock().unwrap().len()), (90, 90));
    let later = pass(10_000, NOW + Duration::from_secs(20_000));
    sessions.end_by_ticket(later.id, later.last_check_in, later.expires_at);
    assert_eq!(sessions.known.len(), 87, "four are removed for the one that is added");
}

#[test]
fn a_pass_whose_end_had_to_be_forgotten_is_not_trusted() {
    let sessions = sessions();
    let first = pass(0, NOW);
    let end = |pass: &Pass| sessions.end_by_ticket(pass.id, pass.accepted_at, pass.expires_at);
    end(&first);
    let most = u128::try_from(Sessions::MAX).unwrap();
    for who in 1..=2 * most {
        end(&pass(who, NOW + Duration::from_millis(u64::try_from(who).unwrap())));
    }
    assert_eq!((sessions.known.len(), sessions.due.lock().unwrap().len()), (1_024, 1_024));
    assert!(!sessions.is_ended(&first) && !sessions.trusts(&first));
    let last = pass(2 * most, NOW);
    assert!(sessions.is_ended(&last) && sessions.trusts(&last));
    assert!(sessions.trusts(&pass(9_999, NOW + Duration::from_secs(3))));
}
