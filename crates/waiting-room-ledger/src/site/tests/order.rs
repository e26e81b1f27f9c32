//! The order of the line across sites: the rooms of two sites on real servers, a global ledger, and
//! visitors who check in when they are due, in virtual time.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::{
    RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId, room::SessionRenewal,
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{
    RedisStore,
    site::{NodeReport, SharedLimit},
};

use crate::{
    SiteId,
    escrow::{EscrowRules, GlobalLedger, RulesDigest, Term, ToGlobal},
    site::{
        messages::{for_room, times, to_global},
        tests::support::{connect, start},
    },
};

const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const SESSION: Duration = Duration::from_secs(60);
const RULES: EscrowRules = EscrowRules::new().session(Duration::from_secs(68));
/// The time between two reports of a site.
const STEP: Duration = Duration::from_millis(200);

/// The rooms of two sites, and what their visitors saw.
struct World {
    rooms: Vec<RedisStore>,
    global: GlobalLedger,
    clock: ManualClock,
    steps: u64,
    visitors: u128,
    /// The visitors who wait: the site, the arrival and the ticket of each one.
    waiting: BTreeMap<VisitorId, (usize, Timestamp, Ticket)>,
    admitted: Vec<Admitted>,
    _servers: Vec<EngineServer>,
}

/// A visitor who was admitted.
struct Admitted {
    site: usize,
    arrived: Timestamp,
    /// The arrival of the oldest visitor who waited at that moment, if it was earlier.
    before: Option<Timestamp>,
}

impl World {
    async fn new(limit: u32) -> Self {
        let clock = ManualClock::new(BEGIN);
        let rules = RoomRules::new("shop", limit)
            .session_duration(SESSION)
            .session_renewal(SessionRenewal::Fixed);
        let mut rooms = Vec::new();
        let mut servers = Vec::new();
        for engine in Engine::ALL {
            let server = start(engine);
            let url = server.url();
            rooms.push(connect(&url, rules.clone(), |options| options.clock(clock.clone())).await);
            servers.push(server);
        }
        let sites = [SiteId::new(0), SiteId::new(1)];
        Self {
            rooms,
            global: GlobalLedger::new(limit, sites, Term::new(1), RULES).unwrap(),
            clock,
            steps: 0,
            visitors: 0,
            waiting: BTreeMap::new(),
            admitted: Vec::new(),
            _servers: servers,
        }
    }

    fn now(&self) -> Timestamp {
        BEGIN + STEP * u32::try_from(self.steps).unwrap()
    }

    async fn report(&self, site: usize) -> ToGlobal {
        let report = NodeReport {
            node: 7,
            incarnation: 1 + site as u64,
            arrivals: 0,
            at_door: 0,
            door_for: Duration::from_secs(1),
            judged: Timestamp::ZERO,
            speaks_for: Duration::from_secs(5),
            minute: None,
        };
        let said = self.rooms[site].report_of_site(&report).await.unwrap();
        to_global(
            SiteId::new(u16::try_from(site).unwrap()),
            RulesDigest::of(&RULES),
            said.at,
            &said.slots,
        )
    }

    /// Lets a site report, and delivers the answers, which may ask for further reports.
    async fn exchange(&mut self, site: usize) {
        let mut reports = vec![site];
        while let Some(site) = reports.pop() {
            let message = self.report(site).await;
            for outgoing in self.global.receive(&message, self.now()) {
                let to = usize::from(outgoing.to.number());
                let Some((term, news)) = for_room(&outgoing.message) else { continue };
                let heard = self.rooms[to]
                    .hear_for_site(SharedLimit::ActiveVisitors, term, &news, &times(&RULES))
                    .await;
                if heard.unwrap().0 {
                    reports.push(to);
                }
            }
        }
    }

    async fn arrive(&mut self, site: usize) {
        self.visitors += 1;
        let visitor = VisitorId::new(self.visitors);
        let verdict = self.rooms[site].enter(visitor).await.unwrap();
        self.note(visitor, site, self.now(), verdict);
    }

    fn note(&mut self, visitor: VisitorId, site: usize, arrived: Timestamp, verdict: Verdict) {
        match verdict {
            Verdict::Admit { .. } => {
                self.waiting.remove(&visitor);
                let oldest = self.waiting.values().map(|(_, arrived, _)| *arrived).min();
                let before = oldest.filter(|oldest| *oldest < arrived);
                self.admitted.push(Admitted { site, arrived, before });
            }
            Verdict::Wait { ticket, .. } => {
                self.waiting.insert(visitor, (site, arrived, ticket));
            }
            Verdict::Refuse { reason, .. } => panic!("{visitor:?} is refused: {reason:?}"),
        }
    }

    /// Lets `STEP` pass: the sites report, and the visitors who are due check in.
    async fn step(&mut self) {
        self.steps += 1;
        self.clock.advance_to(self.now());
        let now = self.now();
        let waiting = self.waiting.iter();
        let due = waiting.filter(|(_, (.., ticket))| ticket.next_check_in <= now);
        for visitor in due.map(|(visitor, _)| *visitor).collect::<Vec<_>>() {
            let (site, arrived, ticket) = self.waiting[&visitor];
            let verdict = self.rooms[site].check_in(ticket).await.unwrap();
            self.note(visitor, site, arrived, verdict);
        }
        for site in 0..self.rooms.len() {
            self.exchange(site).await;
        }
    }

    async fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 1_000 / u64::try_from(STEP.as_millis()).unwrap() {
            self.step().await;
        }
    }

    /// The most seconds by which an admitted visitor had arrived after one who was still waiting.
    fn out_of_order(&self) -> u64 {
        let by = |admitted: &Admitted| {
            admitted.before.map_or(0, |oldest| admitted.arrived.since(oldest).as_secs())
        };
        self.admitted.iter().map(by).max().unwrap_or(0)
    }
}

/// All active visitors are at the second site, where slots become free. The visitors of the first site
/// have waited for longer.
#[tokio::test]
async fn freed_slots_go_to_visitors_that_have_waited_longer_at_another_site() {
    const LIMIT: u32 = 20;
    let mut world = World::new(LIMIT).await;
    world.pass(1).await;
    while world.admitted.len() < LIMIT as usize {
        world.arrive(1).await;
        world.pass(1).await;
    }
    for site in [0, 1] {
        for _ in 0..15 {
            world.arrive(site).await;
            world.pass(1).await;
        }
    }
    assert_eq!(world.admitted.len(), LIMIT as usize, "the sessions of the first visitors go on");
    world.admitted.clear();
    world.pass(45).await;
    println!("{} were admitted, {} s out of order", world.admitted.len(), world.out_of_order());
    assert!(world.admitted.len() >= 18, "{} are admitted", world.admitted.len());
    assert!(world.out_of_order() <= 5, "{} s out of order", world.out_of_order());
}

/// The sessions of a crowd end at about the same time. The visitors of the first site have waited
/// longer than all those of the second one, and there are more of them than the first site has ever
/// admitted.
#[tokio::test]
async fn a_site_with_the_longest_waiting_visitors_gets_freed_slots_at_once() {
    const LIMIT: u32 = 120;
    let mut world = World::new(LIMIT).await;
    world.pass(1).await;
    while world.admitted.len() < LIMIT as usize {
        for _ in 0..20 {
            world.arrive(1).await;
        }
        world.pass(1).await;
    }
    // The visitors who came too late for a slot.
    world.waiting.clear();
    for site in [0, 1] {
        for _ in 0..15 {
            for _ in 0..8 {
                world.arrive(site).await;
            }
            world.pass(1).await;
        }
        // The first visitor of the other site is in another bucket.
        world.pass(5).await;
    }
    world.admitted.clear();
    world.pass(60).await;
    let sites =
        [0, 1].map(|site| world.admitted.iter().filter(|admitted| admitted.site == site).count());
    println!("{sites:?} were admitted, {} s out of order", world.out_of_order());
    // A slot whose visitor checks in late may go to the next visitor at the other site.
    assert!(sites[0] >= LIMIT as usize * 7 / 8, "{sites:?}");
    assert!(world.out_of_order() <= 15, "{} s out of order", world.out_of_order());
}
