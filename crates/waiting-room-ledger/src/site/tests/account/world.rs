//! A room and the ledgers that it is compared with.

mod line;

use std::{collections::BTreeSet, time::Duration};

use proptest::{prelude::*, test_runner::TestCaseError};
use waiting_room_core::{
    RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::{QueueingMethod, SessionRenewal},
    time::ManualClock,
};
use waiting_room_redis::{
    RedisStore,
    site::{AccountReport, GlobalNews, NodeReport, SharedLimit, SiteReport, SiteTimes},
};

use self::line::Lines;
use super::{Accounts, Command, Seen};
use crate::{
    SiteId,
    escrow::{
        EscrowRules, GlobalLedger, Incarnation, Kept, KeptAccount, Outgoing, RulesDigest, Standing,
        Term, ToGlobal, ToSite,
    },
    model::{Admission, SiteAction, SiteLedger},
    site::{
        messages::{for_room, times, to_global},
        tests::support::connect,
    },
};

const SITE: SiteId = SiteId::new(1);
const OTHER: SiteId = SiteId::new(2);
const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const SESSION: Duration = Duration::from_secs(12);
const SLOTS: EscrowRules = EscrowRules::new().session(SESSION).lease(Duration::from_secs(6));
/// A place in the minute is held for less than a minute, so that places lapse in a world.
const HELD: Duration = Duration::from_secs(8);
const MINUTE: EscrowRules =
    EscrowRules::rolling_minute().session(HELD).lease(Duration::from_secs(9));
/// More slots than any world needs.
const PLENTY: u64 = 1_000_000;
const FOREVER: Duration = Duration::from_secs(1_000_000);
/// The visitors of the other site have greater ids.
const OTHERS: u128 = 1 << 64;
/// The only side of a world with a line.
const SITE_OF_LINE: usize = 0;

/// One limit: the model of the account in the room, a global ledger, the other site, and the messages
/// under way.
struct Side {
    limit: SharedLimit,
    rules: EscrowRules,
    model: SiteLedger,
    other: SiteLedger,
    global: GlobalLedger,
    kept: Kept,
    up: Vec<ToGlobal>,
    down: Vec<ToSite>,
}

/// A room, and the limits that it is compared for.
pub(super) struct World {
    room: RedisStore,
    server: redis::aio::MultiplexedConnection,
    prefix: String,
    clock: ManualClock,
    now: Timestamp,
    accounts: Accounts,
    sides: Vec<Side>,
    visitors: u128,
    incarnations: u64,
    /// The visitors that wait at the door, and those whose admission may be undone.
    door: BTreeSet<VisitorId>,
    /// Whether a visitor waits at the door without the room having been told.
    is_untold: bool,
    begun: Vec<VisitorId>,
    lines: Lines,
    /// The arrivals that the room was not told about.
    arrivals: u64,
    pub(super) seen: Seen,
}

pub(super) fn disagree(what: String) -> TestCaseError {
    TestCaseError::fail(what)
}

fn rules_of(limit: SharedLimit) -> EscrowRules {
    match limit {
        SharedLimit::NewVisitors => MINUTE,
        _ => SLOTS,
    }
}

/// The report on one of the accounts.
fn account(limit: SharedLimit, said: &SiteReport) -> AccountReport {
    match limit {
        SharedLimit::NewVisitors => said.minute.clone().unwrap(),
        _ => said.slots.clone(),
    }
}

impl Side {
    fn new(limit: SharedLimit) -> Self {
        let rules = rules_of(limit);
        let mut kept = Kept::new(Term::new(1), 6, rules);
        for site in [SITE, OTHER] {
            let account = KeptAccount::new(Default::default(), Standing::Away);
            kept.accounts.insert(site, account);
        }
        let kept = kept.take_over(Term::new(2)).unwrap();
        let global = GlobalLedger::restore(&kept, Term::new(2), BEGIN).unwrap();
        let site = |site| SiteLedger::new(site, Incarnation::new(1), rules, BEGIN).unwrap();
        let model = site(SITE);
        let other = site(OTHER);
        Self { limit, rules, model, other, global, kept, up: Vec::new(), down: Vec::new() }
    }

    fn times(&self) -> SiteTimes {
        times(&self.rules)
    }

    /// Whether a visitor who does not wait would be admitted.
    fn has_slot(&self, visitor: VisitorId, now: Timestamp) -> bool {
        matches!(self.model.clone().admit_by(visitor, now, now), Admission::Admit(_))
    }

    /// Delivers the answers of the global ledger. The other site has a perfect network.
    fn answer(&mut self, mut messages: Vec<Outgoing>, now: Timestamp) {
        self.kept.apply(&self.global.changes()).unwrap();
        while let Some(outgoing) = messages.pop() {
            if outgoing.to == SITE {
                self.down.push(outgoing.message);
                continue;
            }
            for action in self.other.receive(&outgoing.message, now) {
                if let SiteAction::Send(message) = action {
                    messages.extend(self.global.receive(&message, now));
                }
            }
            self.kept.apply(&self.global.changes()).unwrap();
        }
        // The oldest messages are lost.
        self.down.drain(..self.down.len().saturating_sub(12));
        self.up.drain(..self.up.len().saturating_sub(12));
    }

    fn up(&mut self, message: &ToGlobal, now: Timestamp) {
        let answers = self.global.receive(message, now);
        self.answer(answers, now);
    }

    /// Lets a visitor arrive at the other site.
    fn compete(&mut self, visitor: VisitorId, now: Timestamp) {
        self.other.arrived();
        if let Admission::Borrow { request: Some(request), .. } = self.other.admit(visitor, now) {
            self.up(&request, now);
        }
    }

    /// Calls the other site's `tick`.
    fn tick_other(&mut self, now: Timestamp) {
        for action in self.other.tick(now) {
            if let SiteAction::Send(message) = action {
                self.up(&message, now);
            }
        }
    }

    /// Replaces the global ledger.
    fn replace(&mut self, recovers: bool, now: Timestamp) {
        let term = Term::new(self.global.term().number() + 1);
        let kept = self.kept.take_over(term).unwrap();
        self.global = if recovers {
            let sites = [SITE, OTHER];
            GlobalLedger::recover(&kept, kept.limit, sites, term, self.rules, now).unwrap()
        } else {
            GlobalLedger::restore(&kept, term, now).unwrap()
        };
        self.kept = kept;
        self.kept.apply(&self.global.changes()).unwrap();
        self.down.push(ToSite::Report { term });
    }
}

impl World {
    pub(super) async fn new(server: &str, prefix: String, accounts: Accounts) -> Self {
        let clock = ManualClock::new(BEGIN);
        let rules = RoomRules::new("shop", 100)
            .session_duration(SESSION)
            .session_renewal(SessionRenewal::Fixed);
        let rules = match accounts {
            Accounts::Line => Lines::rules(rules),
            _ => rules.queueing_method(QueueingMethod::Reject),
        };
        let set = prefix.clone();
        let room = connect(server, rules, |options| options.prefix(set).clock(clock.clone())).await;
        let client = redis::Client::open(server).unwrap();
        let mut world = Self {
            room,
            server: client.get_multiplexed_async_connection().await.unwrap(),
            prefix,
            clock,
            now: BEGIN,
            accounts,
            sides: accounts.compared().iter().copied().map(Side::new).collect(),
            visitors: 0,
            incarnations: 1,
            door: BTreeSet::new(),
            is_untold: false,
            begun: Vec::new(),
            lines: Lines::default(),
            arrivals: 0,
            seen: Seen::default(),
        };
        world.tick().await.unwrap();
        world
    }

    /// Lets the room process the current time, and return the slots that it then has to give back.
    async fn advance_room(&mut self) {
        self.room.sweep().await.unwrap();
        let limit = SharedLimit::ActiveVisitors;
        self.room.hear_for_site(limit, 0, &GlobalNews::Report, &times(&SLOTS)).await.unwrap();
    }

    fn visitor(&mut self) -> VisitorId {
        self.visitors += 1;
        VisitorId::new(self.visitors)
    }

    /// What the room reports.
    async fn report(&mut self) -> SiteReport {
        let report = NodeReport {
            node: 7,
            incarnation: self.incarnations,
            arrivals: std::mem::take(&mut self.arrivals),
            at_door: u32::try_from(self.door.len()).unwrap(),
            door_for: Duration::from_secs(3600),
            judged: Timestamp::ZERO,
            speaks_for: Duration::from_secs(5),
            minute: self.accounts.has_minute().then_some(HELD),
        };
        self.is_untold = false;
        let said = self.room.report_of_site(&report).await.unwrap();
        assert!(said.speaks);
        said
    }

    /// Gives plenty to the account that never lacks anything, if a report shows that it has nothing.
    async fn supply(&self, said: &SiteReport) {
        let Some(limit) = self.accounts.ample() else { return };
        let account = account(limit, said);
        if account.has_account {
            return;
        }
        let epoch = (1, account.epoch.1 + 1);
        let heard = said.at;
        let lease = FOREVER;
        let incarnation = account.incarnation;
        let inherited = 0;
        let welcome = GlobalNews::Welcome { epoch, incarnation, heard, lease, inherited };
        let granted = PLENTY;
        let reserve = PLENTY;
        let recall = false;
        let grant = GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall };
        for news in [welcome, grant] {
            self.room.hear_for_site(limit, 1, &news, &times(&rules_of(limit))).await.unwrap();
        }
    }

    /// Sends the message of one model, which the room has to send as well. The room reports on all
    /// accounts at once, so the other models have to report, too.
    async fn send(&mut self, from: usize, message: ToGlobal) -> Result<(), TestCaseError> {
        let now = self.now;
        let mut messages = Vec::new();
        for (index, side) in self.sides.iter_mut().enumerate() {
            messages.push(if index == from {
                message.clone()
            } else {
                let asked = ToSite::Report { term: side.model.term() };
                match side.model.receive(&asked, now).as_slice() {
                    [SiteAction::Send(message)] => message.clone(),
                    other => return Err(disagree(format!("{other:?}"))),
                }
            });
        }
        let said = self.report().await;
        for (side, message) in self.sides.iter_mut().zip(messages) {
            let account = account(side.limit, &said);
            let room = to_global(SITE, RulesDigest::of(&side.rules), said.at, &account);
            prop_assert_eq!(room, message.clone(), "the room, and {:?} at {:?}", side.limit, now);
            prop_assert_eq!(account.is_recalled, side.model.is_recalled(), "{:?}", side.limit);
            if let ToGlobal::Heartbeat(report) = &message {
                self.seen.fronts += u64::from(!report.front.is_empty());
                self.seen.promised += report.used - side.model.used();
                self.seen.recalls += u64::from(account.is_recalled);
            }
            side.up.push(message);
        }
        self.supply(&said).await;
        Ok(())
    }

    async fn enters(&mut self, visitor: VisitorId) -> bool {
        let verdict = match self.lines.take_ticket(visitor) {
            Some(ticket) => self.room.check_in(ticket).await,
            None => self.room.enter(visitor).await,
        };
        matches!(verdict.unwrap(), Verdict::Admit { .. })
    }

    async fn arrive(&mut self, waits: bool) -> Result<(), TestCaseError> {
        let visitor = self.visitor();
        let now = self.now;
        self.arrivals += 1;
        self.sides.iter_mut().for_each(|side| side.model.arrived());
        let deadline = if waits { Timestamp::MAX } else { now };
        let is_admitted = self.sides.iter().all(|side| side.has_slot(visitor, now));
        let mut asks = None;
        if is_admitted || self.sides.len() == 1 {
            for side in &mut self.sides {
                if let Admission::Borrow { request, .. } =
                    side.model.admit_by(visitor, deadline, now)
                {
                    self.door.insert(visitor);
                    self.is_untold = true;
                    asks = request;
                }
            }
        }
        let enters = self.enters(visitor).await;
        if enters != is_admitted {
            return Err(disagree(format!("{enters} in the room, {is_admitted} in the ledgers")));
        }
        if is_admitted {
            self.begun.push(visitor);
            self.seen.at_once += 1;
        }
        match asks {
            Some(request) => self.send(0, request).await,
            None => Ok(()),
        }
    }

    /// Carries out the decisions of a model, which the room has to make as well.
    async fn act(&mut self, side: usize, actions: Vec<SiteAction>) -> Result<(), TestCaseError> {
        for action in actions {
            match action {
                SiteAction::Admit(pass) => {
                    self.door.remove(&pass.visitor);
                    if !self.enters(pass.visitor).await {
                        return Err(disagree(format!("{:?} waits in the room", pass.visitor)));
                    }
                    self.begun.push(pass.visitor);
                    self.seen.later += 1;
                }
                SiteAction::GiveUp(visitor) => {
                    self.door.remove(&visitor);
                    self.lines.at_door = None;
                }
                SiteAction::Send(message) => self.send(side, message).await?,
                other => return Err(disagree(format!("{other:?}"))),
            }
        }
        Ok(())
    }

    /// Hands a message to the room and to its model.
    ///
    /// A recalled slot is given back unless a visitor is known to wait for it, so the room has to
    /// know the same visitors as the model, and is asked for a report. In a site, visitors retry.
    async fn down(&mut self, side: usize, message: &ToSite) -> Result<(), TestCaseError> {
        if self.is_untold && matches!(message, ToSite::Grant(grant) if grant.recall) {
            let model = &mut self.sides[side].model;
            let actions = model.receive(&ToSite::Report { term: model.term() }, self.now);
            self.act(side, actions).await?;
        }
        let changed = &mut self.sides[side];
        let limit = changed.limit;
        let times = changed.times();
        let actions = changed.model.receive(message, self.now);
        if let Some((term, news)) = for_room(message) {
            self.room.hear_for_site(limit, term, &news, &times).await.unwrap();
        }
        self.act(side, actions).await
    }

    async fn flush(&mut self) {
        let pattern = format!("{{{}:shop}}:*", self.prefix);
        let keys: Vec<String> =
            redis::cmd("KEYS").arg(pattern).query_async(&mut self.server).await.unwrap();
        let () = redis::cmd("DEL").arg(keys).query_async(&mut self.server).await.unwrap();
        self.incarnations += 1;
        let life = Incarnation::new(self.incarnations);
        for side in &mut self.sides {
            side.model = SiteLedger::new(SITE, life, side.rules, self.now).unwrap();
        }
        self.door.clear();
        self.lines.at_door = None;
        self.begun.clear();
        self.arrivals = 0;
        self.advance_room().await;
    }

    /// One of the sides, and one of its messages, by a random number.
    fn pick(&self, index: usize, of: impl Fn(&Side) -> usize) -> Option<(usize, usize)> {
        let side = index % self.sides.len();
        let count = of(&self.sides[side]);
        (count > 0).then(|| (side, index / self.sides.len() % count))
    }

    #[expect(clippy::too_many_lines, reason = "one step of the world after the other")]
    pub(super) async fn run(&mut self, command: &Command) -> Result<(), TestCaseError> {
        self.advance_room().await;
        let now = self.now;
        for side in &mut self.sides {
            // An unknown visitor leaves, so that the model notices the time as well.
            side.model.leave(VisitorId::new(0), now);
        }
        match *command {
            Command::Advance(millis) => {
                self.now = self.now + Duration::from_millis(millis);
                self.clock.advance_to(self.now);
                let now = self.now;
                self.sides.iter_mut().for_each(|side| side.tick_other(now));
            }
            Command::Arrive if self.accounts == Accounts::Line => self.come().await?,
            Command::Borrow if self.accounts == Accounts::Line => self.wait_at_door().await?,
            Command::Arrive => self.arrive(false).await?,
            Command::Borrow => self.arrive(self.sides.len() == 1).await?,
            Command::Compete => {
                let visitor = VisitorId::new(OTHERS + self.visitor().bits());
                self.sides.iter_mut().for_each(|side| side.compete(visitor, now));
            }
            Command::Down { index, kept } => {
                if let Some((side, index)) = self.pick(index, |side| side.down.len()) {
                    let down = &mut self.sides[side].down;
                    let message = if kept { down[index].clone() } else { down.remove(index) };
                    self.down(side, &message).await?;
                }
            }
            Command::Up { index, kept } => {
                if let Some((side, index)) = self.pick(index, |side| side.up.len()) {
                    let up = &mut self.sides[side].up;
                    let message = if kept { up[index].clone() } else { up.remove(index) };
                    self.sides[side].up(&message, now);
                }
            }
            Command::Exchange => {
                for side in 0..self.sides.len() {
                    for message in std::mem::take(&mut self.sides[side].up) {
                        self.sides[side].up(&message, now);
                    }
                    for message in std::mem::take(&mut self.sides[side].down) {
                        self.advance_room().await;
                        self.down(side, &message).await?;
                    }
                }
            }
            Command::Flush => self.flush().await,
            Command::Line(ref command) => self.run_in_line(command).await?,
            Command::GlobalTick => {
                for side in &mut self.sides {
                    let messages = side.global.tick(now);
                    side.answer(messages, now);
                }
            }
            Command::Recover(side) | Command::Restore(side) => {
                let side = side % self.sides.len();
                self.sides[side].replace(matches!(command, Command::Recover(_)), now);
            }
            Command::SetLimit(side, limit) => {
                let side = side % self.sides.len();
                self.sides[side].global.set_limit(limit);
            }
            Command::Withdraw(index) if !self.begun.is_empty() => {
                let visitor = self.begun.remove(index % self.begun.len());
                for side in &mut self.sides {
                    // A place in the minute is taken, whether the visitor stays or not.
                    if side.limit == SharedLimit::ActiveVisitors {
                        side.model.withdraw(visitor, now);
                    }
                }
                self.room.leave(visitor).await.unwrap();
            }
            Command::Withdraw(_) => {}
        }
        self.tick().await
    }

    /// Calls `tick`, as the caller of a ledger does after each verb.
    async fn tick(&mut self) -> Result<(), TestCaseError> {
        self.advance_room().await;
        if self.accounts == Accounts::Line {
            self.tell_of_line().await;
        }
        for side in 0..self.sides.len() {
            let actions = self.sides[side].model.tick(self.now);
            self.act(side, actions).await?;
        }
        Ok(())
    }
}
