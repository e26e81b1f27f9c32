//! Whole worlds in virtual time: two ledgers, three sites, and everything that may fail, all from a
//! seed.
//!
//! `WAITING_ROOM_SEEDS=1000 cargo test -p waiting-room-ledger --test it worlds` runs more worlds.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};
use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId,
    model::{
        Admission, Changes, Holder, HolderTimes, Incarnation, KeepError, KeeperFault, LedgerKeeper,
        LedgerLink, LedgerServer, LinkOptions, MemoryKeeper, Seen, ServerKeys, SiteAction,
        SiteLedger, SitePass, TakenOver, Term,
    },
};

use crate::net::{Cut, Net, NetDial};

const RULES: EscrowRules = EscrowRules::new()
    .session(Duration::from_secs(12))
    .lease(Duration::from_secs(8))
    .drift_margin(Duration::from_millis(500))
    .heartbeat(Duration::from_millis(500));
const LIMIT: u32 = 8;
const SITES: u16 = 3;
const LEDGERS: [&str; 2] = ["ledger-0", "ledger-1"];
const STEP: Duration = Duration::from_millis(50);

fn keys() -> SharedKeys {
    SharedKeys::parse(&"5".repeat(64)).unwrap()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }
}

/// A keeper that takes its time before and after it stores a batch, so that messages arrive and
/// processes are killed meanwhile.
struct SlowKeeper {
    memory: MemoryKeeper,
    random: Random,
}

impl SlowKeeper {
    /// The maximum delay, in milliseconds, before a batch is stored, and also after it.
    const MOST: u64 = 40;

    async fn pause(&mut self) {
        sleep(Duration::from_millis(self.random.below(Self::MOST))).await;
    }
}

impl LedgerKeeper for SlowKeeper {
    async fn watch(&mut self) -> Result<Seen, KeepError> {
        self.memory.watch().await
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        self.memory.take_over(seen, at_least).await
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        self.pause().await;
        let kept = self.memory.keep(changes).await;
        self.pause().await;
        kept
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        self.memory.release(term).await
    }
}

/// A site: its ledger, its link, and its visitors.
struct Site {
    ledger: SiteLedger,
    link: LedgerLink,
    dial: NetDial,
    healed_at: Timestamp,
}

struct World {
    seed: u64,
    random: Random,
    start: Instant,
    net: Net,
    keeper: MemoryKeeper,
    /// The tasks of the ledgers, and when those that were killed start again.
    ledgers: Vec<Result<AbortHandle, Timestamp>>,
    sites: Vec<Site>,
    /// The newest pass of each visitor.
    passes: BTreeMap<VisitorId, SitePass>,
    next_visitor: u128,
    admitted: Vec<Timestamp>,
    keeper_healed_at: Timestamp,
}

impl World {
    fn new(seed: u64) -> Self {
        let keeper = MemoryKeeper::new(LIMIT, (0..SITES).map(SiteId::new), RULES);
        let mut world = Self {
            seed,
            random: Random(seed),
            start: Instant::now(),
            net: Net::default(),
            keeper,
            ledgers: Vec::new(),
            sites: Vec::new(),
            passes: BTreeMap::new(),
            next_visitor: 1,
            admitted: Vec::new(),
            keeper_healed_at: Timestamp::ZERO,
        };
        for ledger in 0..LEDGERS.len() {
            let task = world.start_ledger(ledger);
            world.ledgers.push(Ok(task));
        }
        for site in 0..SITES {
            let site = world.start_site(SiteId::new(site), None);
            world.sites.push(site);
        }
        world
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_000) + self.start.elapsed()
    }

    fn start_ledger(&self, ledger: usize) -> AbortHandle {
        let random = Random(self.seed ^ self.now().as_nanos() ^ ledger as u64);
        let keeper = SlowKeeper { memory: self.keeper.clone(), random };
        let (holder, handle) = Holder::new("shop", keeper, HolderTimes::default());
        let server = LedgerServer::new([("shop".to_owned(), handle)], ServerKeys::new(keys()));
        self.net.listen(LEDGERS[ledger], server);
        tokio::spawn(holder.run(std::future::pending())).abort_handle()
    }

    /// Starts a site, with a new incarnation of the ledger that it had before.
    fn start_site(&mut self, site: SiteId, before: Option<SiteLedger>) -> Site {
        let bits = self.random.bits();
        let now = self.now();
        let incarnation = Incarnation::new(bits);
        let ledger = match before {
            Some(mut ledger) => {
                ledger.restart(incarnation, now).unwrap();
                ledger
            }
            None => SiteLedger::new(site, incarnation, RULES, now).unwrap(),
        };
        let dial = self.net.client();
        let addresses = LEDGERS.map(str::to_owned);
        let options = LinkOptions::new("shop", (site, incarnation), &RULES, addresses, keys());
        let link = LedgerLink::connect(dial.clone(), options.seed(bits));
        Site { ledger, link, dial, healed_at: Timestamp::ZERO }
    }

    /// The visitors who are active, as their passes show.
    fn active(&self) -> usize {
        let now = self.now();
        self.passes.values().filter(|pass| now < pass.expires_at).count()
    }

    fn carry_out(&mut self, site: usize, actions: Vec<SiteAction>) {
        for action in actions {
            match action {
                SiteAction::Admit(pass) => self.admit(pass),
                SiteAction::Send(message) => {
                    self.sites[site].link.send(message);
                }
                _ => {}
            }
        }
    }

    fn admit(&mut self, pass: SitePass) {
        if self.passes.insert(pass.visitor, pass).is_none() {
            self.admitted.push(self.now());
        }
        let active = self.active();
        assert!(active <= LIMIT as usize, "seed {}: {active} active of {LIMIT}", self.seed);
    }

    /// Lets a new visitor arrive at a site.
    fn arrive(&mut self, site: usize) {
        let visitor = VisitorId::new(self.next_visitor);
        let now = self.now();
        self.next_visitor += 1;
        let ledger = &mut self.sites[site].ledger;
        ledger.arrived();
        match ledger.admit(visitor, now) {
            Admission::Admit(pass) => self.admit(pass),
            Admission::Borrow { request: Some(request), .. } => {
                self.sites[site].link.send(request);
            }
            _ => {}
        }
    }

    /// Lets an active visitor ask for a longer session at its home.
    fn stay(&mut self) {
        let now = self.now();
        let active: Vec<_> =
            self.passes.values().filter(|pass| now < pass.expires_at).copied().collect();
        if active.is_empty() {
            return;
        }
        let place = usize::try_from(self.random.below(active.len() as u64)).unwrap();
        let pass = active[place];
        let home = usize::from(pass.home.number());
        if let waiting_room_ledger::model::Prolonged::Renew { pass, claim } =
            self.sites[home].ledger.prolong(&pass, now)
        {
            self.admit(pass);
            if let Some(claim) = claim {
                self.sites[home].link.send(claim);
            }
        }
    }

    /// One step of virtual time.
    async fn step(&mut self) {
        sleep(STEP).await;
        let now = self.now();
        for site in 0..self.sites.len() {
            while let Ok(Some(message)) =
                timeout(Duration::ZERO, self.sites[site].link.receive()).await
            {
                let actions = self.sites[site].ledger.receive(&message, now);
                self.carry_out(site, actions);
            }
            let actions = self.sites[site].ledger.tick(now);
            self.carry_out(site, actions);
            if self.sites[site].healed_at <= now {
                self.sites[site].dial.cut(Cut::default());
            }
        }
        for ledger in 0..self.ledgers.len() {
            if self.ledgers[ledger].as_ref().is_err_and(|again| *again <= now) {
                self.ledgers[ledger] = Ok(self.start_ledger(ledger));
            }
        }
        if self.keeper_healed_at <= now {
            self.keeper.set_fault(KeeperFault::None);
        }
        self.passes.retain(|_, pass| now < pass.expires_at + RULES.reclaim_after());
    }

    /// A fault of any kind, for a random time.
    fn fail(&mut self) {
        let now = self.now();
        let until = now + Duration::from_millis(200 + self.random.below(12_000));
        let site = usize::try_from(self.random.below(SITES.into())).unwrap();
        let ledger = usize::try_from(self.random.below(2)).unwrap();
        match self.random.below(6) {
            0 | 1 => {
                if let Ok(task) = &self.ledgers[ledger] {
                    task.abort();
                    self.net.kill(LEDGERS[ledger]);
                    self.ledgers[ledger] = Err(until);
                }
            }
            2 | 3 => {
                let bits = self.random.below(3) + 1;
                let cut = Cut { from_ledger: bits & 1 != 0, to_ledger: bits & 2 != 0 };
                self.sites[site].dial.cut(cut);
                self.sites[site].healed_at = until;
            }
            4 => {
                let silent = self.random.below(2) == 0;
                let fault =
                    if silent { KeeperFault::SilentlyStored } else { KeeperFault::Unavailable };
                self.keeper.set_fault(fault);
                self.keeper_healed_at = until;
            }
            _ => {
                let before = self.sites[site].ledger.clone();
                let id = SiteId::new(u16::try_from(site).unwrap());
                self.sites[site] = self.start_site(id, Some(before));
            }
        }
    }

    fn heal(&mut self) {
        let now = self.now();
        self.keeper_healed_at = now;
        for site in &mut self.sites {
            site.healed_at = now;
        }
        for ledger in &mut self.ledgers {
            if let Err(again) = ledger {
                *again = now;
            }
        }
    }
}

/// Runs a world, and returns the number of visitors admitted during and after its faults.
async fn run(seed: u64) -> (usize, usize) {
    let mut world = World::new(seed);
    while world.now() < Timestamp::from_secs(1_100) {
        if world.random.below(4) == 0 {
            let site = usize::try_from(world.random.below(SITES.into())).unwrap();
            world.arrive(site);
        }
        if world.random.below(10) == 0 {
            world.stay();
        }
        if world.random.below(60) == 0 {
            world.fail();
        }
        world.step().await;
    }
    let during = world.admitted.len();
    // Once nothing fails any more, everything is as it should be when the last pass is void.
    world.heal();
    let calm = world.now() + RULES.reclaim_after() + Duration::from_secs(10);
    while world.now() < calm {
        world.step().await;
    }
    let begin = world.now();
    for visitor in 0..LIMIT {
        world.arrive(usize::try_from(visitor % u32::from(SITES)).unwrap());
    }
    while world.now() < begin + Duration::from_secs(2) {
        world.step().await;
    }
    let after = world.admitted.iter().filter(|at| **at >= begin).count();
    assert_eq!(after, LIMIT as usize, "seed {seed}: no slot is lost");
    (during, after)
}

#[test]
fn worlds_with_faults_are_never_above_the_limit_and_lose_no_slot() {
    let seeds = std::env::var("WAITING_ROOM_SEEDS").ok().map_or(20, |seeds| seeds.parse().unwrap());
    let first: u64 =
        std::env::var("WAITING_ROOM_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    let mut least = usize::MAX;
    for seed in first..first + seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (during, _) = runtime.block_on(run(seed));
        println!("seed {seed}: {during} admitted during the faults");
        least = least.min(during);
    }
    println!("at least {least} visitors were admitted in each world during its faults");
    assert!(least >= 10, "the door hardly moved: {least}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_grants_within_three_seconds_of_the_holders_death() {
    let mut world = World::new(1);
    for _ in 0..100 {
        world.step().await;
    }
    let holder = usize::from(!is_holder(&world, 0));
    assert!(is_holder(&world, holder));
    for _ in 0..LIMIT / 2 {
        world.arrive(0);
    }
    for _ in 0..20 {
        world.step().await;
    }
    assert_eq!(world.admitted.len(), LIMIT as usize / 2);
    world.ledgers[holder].as_ref().unwrap().abort();
    world.net.kill(LEDGERS[holder]);
    let begin = world.now();
    // One of three sites is down, too.
    world.sites[2].dial.cut(Cut { from_ledger: true, to_ledger: true });
    world.sites[2].healed_at = Timestamp::MAX;
    let admitted = world.admitted.len();
    while world.admitted.len() == admitted {
        world.arrive(1);
        world.step().await;
        let waited = world.now().since(begin);
        assert!(waited <= Duration::from_secs(3), "nothing was granted for {waited:?}");
    }
}

/// Whether the link of the first site is connected to this ledger.
fn is_holder(world: &World, ledger: usize) -> bool {
    let state = world.sites[0].link.state();
    let address = LEDGERS[ledger].to_owned();
    *state.borrow() == waiting_room_ledger::model::LinkState::Connected { address }
}
