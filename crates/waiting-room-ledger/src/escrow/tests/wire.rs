//! The encoding of messages: each is read as it was written, and anything else is refused.

use proptest::{collection::vec, option, prelude::*};
use waiting_room_core::RoomRules;

use super::*;
use crate::slots::Minute;

fn term() -> impl Strategy<Value = Term> {
    prop_oneof![0..4_u32, any::<u32>()].prop_map(Term::new)
}

fn epoch() -> impl Strategy<Value = Epoch> {
    (term(), prop_oneof![0..4_u32, any::<u32>()]).prop_map(|(term, count)| Epoch::new(term, count))
}

fn site() -> impl Strategy<Value = SiteId> {
    prop_oneof![0..3_u16, any::<u16>()].prop_map(SiteId::new)
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![0..1_000_000_000_000_u64, any::<u64>()].prop_map(Timestamp::from_nanos)
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, 0..=MAX_COUNT, Just(MAX_COUNT)]
}

/// Digests, some of which are those of [`RULES`].
fn digest() -> impl Strategy<Value = RulesDigest> {
    prop_oneof![Just(RulesDigest::of(&RULES)), any::<u64>().prop_map(RulesDigest::new)]
}

/// Fronts with up to the maximum number of buckets, some of which are as large as possible.
fn front() -> impl Strategy<Value = LineFront> {
    let begins = prop_oneof![0..1_000_u64, Just(340_000_000), any::<u32>().prop_map(u64::from)];
    let steps = vec((0..30_u64, prop_oneof![1..300_u32, Just(u32::MAX)]), 0..20);
    (begins, steps).prop_map(|(begins, steps)| {
        let mut front = LineFront::new();
        let mut bucket = begins;
        for (step, visitors) in steps {
            bucket += step;
            front.add(Timestamp::from_secs(5 * bucket), visitors);
        }
        front
    })
}

prop_compose! {
    fn heartbeat()(
        (site, incarnation, term, epoch) in (site(), any::<u64>(), term(), epoch()),
        (sent_at, lease_end, rules) in (time(), time(), digest()),
        (granted, returned, used, want, demand) in (count(), count(), count(), count(), count()),
        front in front(),
    ) -> Heartbeat {
        let incarnation = Incarnation::new(incarnation);
        Heartbeat {
            site, incarnation, term, epoch, sent_at, lease_end, rules, granted, returned, used, want,
            demand, front,
        }
    }
}

prop_compose! {
    fn death()(site in site(), epoch in epoch(), heard in time()) -> Death {
        Death { site, epoch, heard }
    }
}

fn minute() -> impl Strategy<Value = Minute> {
    prop_oneof![0..3_u32, any::<u32>()].prop_map(Minute::new)
}

prop_compose! {
    fn tally()(
        (site, bits, term, sent_at, rules) in (site(), any::<u64>(), term(), time(), digest()),
        (knows, active, admitted) in (any::<u64>(), any::<u32>(), any::<u32>()),
        (minute, of_draw, total, slots) in (minute(), minute(), any::<u32>(), any::<u32>()),
        knows_world in any::<bool>(),
    ) -> Tally {
        let incarnation = Incarnation::new(bits);
        let draw = Draw { minute: of_draw, total, slots, knows_world };
        Tally { site, incarnation, term, sent_at, rules, knows, active, minute, admitted, draw }
    }
}

prop_compose! {
    /// A snapshot of the world with up to the number of sites that one message can carry.
    fn world()(
        (term, version, made_at, minute) in (term(), any::<u64>(), time(), minute()),
        (limit, active) in (any::<u32>(), any::<u32>()),
        sites in prop_oneof![0..4_usize, Just(World::MAX_SITES)],
        step in 1..=31_u16,
        visitors in prop_oneof![1..200_u32, Just(RoomRules::MAX_USERS)],
    ) -> World {
        let numbers = (0..).step_by(step.into()).take(sites);
        let traffic = numbers.map(|number| (SiteId::new(number), visitors)).collect();
        World { term, version, made_at, limit, active, minute, traffic }
    }
}

fn to_global() -> impl Strategy<Value = ToGlobal> {
    let join = (site(), any::<u64>(), epoch(), time(), digest());
    let join = join.prop_map(|(site, bits, after, sent_at, rules)| {
        ToGlobal::Join(Join { site, incarnation: Incarnation::new(bits), after, sent_at, rules })
    });
    let pass = (any::<u128>(), site(), epoch(), time());
    let claim = (heartbeat(), pass, option::of(death()));
    let claim = claim.prop_map(|(heartbeat, (visitor, home, epoch, expires_at), death)| {
        let pass = SitePass::new(VisitorId::new(visitor), home, epoch, expires_at);
        ToGlobal::Claim { heartbeat, pass, death }
    });
    prop_oneof![
        heartbeat().prop_map(ToGlobal::Heartbeat),
        join,
        claim,
        tally().prop_map(ToGlobal::Tally)
    ]
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        Just(Refusal::Drained),
        Just(Refusal::Fenced),
        Just(Refusal::NotListed),
        Just(Refusal::Policy),
        (any::<u64>(), digest()).prop_map(|(lease, digest)| {
            let rules = RULES.lease(Duration::from_nanos(lease));
            Refusal::Rules { rules, digest }
        }),
        (term(), term()).prop_map(|(given, most)| Refusal::TermTooHigh { given, most }),
    ]
}

fn to_site() -> impl Strategy<Value = ToSite> {
    let lease = || any::<u64>().prop_map(Duration::from_nanos);
    let grant = (term(), epoch(), time(), lease(), count(), count(), any::<bool>());
    let refused = (term(), any::<u64>(), epoch(), refusal());
    let tickets = (term(), any::<u64>(), minute(), any::<u32>(), any::<bool>());
    let welcome = (term(), epoch(), any::<u64>(), time(), lease(), count());
    prop_oneof![
        (term(), death()).prop_map(|(term, death)| ToSite::Dead { term, death }),
        grant.prop_map(|(term, epoch, heard, lease, granted, reserve, recall)| {
            ToSite::Grant(Grant { term, epoch, heard, lease, granted, reserve, recall })
        }),
        refused.prop_map(|(term, bits, over, reason)| {
            ToSite::Refused(Refused { term, incarnation: Incarnation::new(bits), over, reason })
        }),
        term().prop_map(|term| ToSite::Report { term }),
        (term(), epoch(), epoch()).prop_map(|(term, over, current)| ToSite::Stale {
            term,
            over,
            current
        }),
        welcome.prop_map(|(term, epoch, bits, heard, lease, inherited)| {
            let incarnation = Incarnation::new(bits);
            ToSite::Welcome(Welcome { term, epoch, incarnation, heard, lease, inherited })
        }),
        tickets.prop_map(|(term, bits, minute, total, is_dry)| {
            let incarnation = Incarnation::new(bits);
            ToSite::Tickets(Tickets { term, incarnation, minute, total, is_dry })
        }),
        world().prop_map(ToSite::World),
    ]
}

proptest! {
    #[test]
    fn a_message_of_a_site_round_trips(message in to_global()) {
        let bytes = message.encode();
        prop_assert!(bytes.len() <= MAX_MESSAGE_LEN);
        prop_assert_eq!(ToGlobal::decode(&bytes), Ok(message));
    }

    #[test]
    fn a_message_to_a_site_round_trips(message in to_site()) {
        let bytes = message.encode();
        let is_world = matches!(message, ToSite::World(_));
        let most = if is_world { MAX_WORLD_LEN } else { MAX_MESSAGE_LEN };
        prop_assert!(bytes.len() <= most);
        prop_assert_eq!(ToSite::decode(&bytes), Ok(message));
    }

    #[test]
    fn a_message_that_is_cut_or_longer_is_refused(
        message in to_global(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.encode();
        let length = cut.index(bytes.len());
        prop_assert!(ToGlobal::decode(&bytes[..length]).is_err());
        bytes.push(0);
        prop_assert_eq!(ToGlobal::decode(&bytes), Err(WireError::Longer));
    }

    #[test]
    fn each_message_has_one_encoding(bytes in vec(any::<u8>(), 0..100), kind in 0..26_u8) {
        let bytes: Vec<_> = [WIRE_VERSION, kind].into_iter().chain(bytes).collect();
        if let Ok(message) = ToGlobal::decode(&bytes) {
            prop_assert_eq!(message.encode(), bytes.clone());
        }
        if let Ok(message) = ToSite::decode(&bytes) {
            prop_assert_eq!(message.encode(), bytes);
        }
    }

    /// A site that holds the key may be broken. Its messages are wrong, but nothing panics.
    #[test]
    fn nonsense_panics_neither_a_ledger_nor_a_site(
        sent in vec(to_global(), 0..20),
        heard in vec(to_site(), 0..20),
    ) {
        let sites = (0..3).map(SiteId::new);
        let mut global = GlobalLedger::new(10, sites, Term::new(1), RULES).unwrap();
        let mut site = SiteLedger::new(SiteId::new(1), Incarnation::new(1), RULES, at(0)).unwrap();
        for (second, message) in (1..).zip(&sent) {
            for answer in global.receive(message, at(second)) {
                site.receive(&answer.message, at(second));
            }
            global.tick(at(second));
            let _ = global.changes();
        }
        for (second, message) in (21..).zip(&heard) {
            site.receive(message, at(second));
            site.admit(VisitorId::new(second.into()), at(second));
            site.tick(at(second));
        }
        prop_assert!(global.held() >= global.held_by(SiteId::new(1)));
    }
}

#[test]
fn a_heartbeat_is_small() {
    let net = Net::new(10, 1, RULES);
    let mut site = net.sites[0].clone();
    let [SiteAction::Send(heartbeat)] = &site.tick(at(2))[..] else {
        panic!("a heartbeat is due");
    };
    assert!(heartbeat.encode().len() <= 60, "{} bytes", heartbeat.encode().len());
}

#[test]
fn a_message_of_another_version_is_refused_with_both_versions() {
    let mut bytes = ToSite::Report { term: Term::new(3) }.encode();
    bytes[0] = 9;
    let error = ToSite::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "the version of the message is 9, expected 2");
    assert_eq!(ToGlobal::decode(&bytes), Err(error));
}

#[test]
fn a_message_in_the_wrong_direction_is_refused() {
    let bytes = ToSite::Report { term: Term::new(3) }.encode();
    assert_eq!(ToGlobal::decode(&bytes), Err(WireError::Value { field: "kind" }));
}

#[test]
fn a_count_beyond_the_bound_is_refused_by_name() {
    let welcome = Welcome {
        term: Term::new(1),
        epoch: Epoch::new(Term::new(1), 1),
        incarnation: Incarnation::new(1),
        heard: at(1),
        lease: Duration::from_secs(1),
        inherited: 0,
    };
    let mut bytes = ToSite::Welcome(welcome).encode();
    bytes.pop();
    bytes.extend([0xff; 9]);
    bytes.push(1);
    assert_eq!(ToSite::decode(&bytes), Err(WireError::Value { field: "inherited" }));
}

/// A heartbeat with this front, written byte by byte after the count of its buckets.
fn with_front(front: &[u8]) -> Result<ToGlobal, WireError> {
    let net = Net::new(10, 1, RULES);
    let [SiteAction::Send(heartbeat)] = &net.sites[0].clone().tick(at(2))[..] else {
        panic!("a heartbeat is due");
    };
    let mut bytes = heartbeat.encode();
    assert_eq!(bytes.pop(), Some(0), "no visitor waits");
    bytes.extend(front);
    ToGlobal::decode(&bytes)
}

#[test]
fn a_front_that_is_not_in_order_or_has_no_visitors_is_refused_by_name() {
    let invalid = |field| Err(WireError::Value { field });
    assert!(with_front(&[2, 7, 1, 0, 3]).is_ok(), "the seventh bucket and the eighth");
    assert_eq!(with_front(&[17]), invalid("front"));
    assert_eq!(with_front(&[1, 7, 0]), invalid("visitors"));
    assert_eq!(with_front(&[2, 7, 1, 0]), Err(WireError::Shorter));
    assert_eq!(with_front(&[1, 7, 1, 0]), Err(WireError::Longer));
    // A bucket that begins after the latest possible time: first as the only bucket, then as the
    // one after a bucket at the latest time.
    assert_eq!(with_front(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]), invalid("bucket"));
    let latest = [0xce, 0xfd, 0x9b, 0xdf, 0x0d];
    let with = |last: &[u8]| {
        let bytes = [&[2], &latest[..], &[1], last].concat();
        with_front(&bytes)
    };
    assert_eq!(with(&[0, 1]), invalid("bucket"));
    // More visitors than a count may hold.
    assert_eq!(with_front(&[1, 7, 0xff, 0xff, 0xff, 0xff, 0x1f]), invalid("visitors"));
}

#[test]
fn the_largest_front_fits_into_a_message() {
    let mut front = LineFront::new();
    for bucket in 0..LineFront::MAX_BUCKETS as u64 {
        front.add(at(5 * (3_000_000_000 + 40_000_000 * bucket)), u32::MAX);
    }
    let site = &mut Net::new(10, 1, RULES).sites[0].clone();
    let [SiteAction::Send(ToGlobal::Heartbeat(heartbeat))] = site.tick(at(2))[..] else {
        panic!("a heartbeat is due");
    };
    let largest = Heartbeat {
        site: SiteId::new(u16::MAX),
        term: Term::new(u32::MAX),
        epoch: Epoch::new(Term::new(u32::MAX), u32::MAX),
        granted: MAX_COUNT,
        returned: MAX_COUNT,
        used: MAX_COUNT,
        want: MAX_COUNT,
        demand: MAX_COUNT,
        front,
        ..heartbeat
    };
    let epoch = largest.epoch;
    let pass = SitePass::new(VisitorId::new(u128::MAX), largest.site, epoch, Timestamp::MAX);
    let death = Some(Death { site: largest.site, epoch, heard: Timestamp::MAX });
    let claim = ToGlobal::Claim { heartbeat: largest, pass, death };
    let bytes = claim.encode();
    assert!(bytes.len() <= MAX_MESSAGE_LEN, "{} bytes", bytes.len());
    assert_eq!(ToGlobal::decode(&bytes), Ok(claim));
}
