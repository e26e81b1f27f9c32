//! The process of the global ledger with many sites, and PostgreSQL as its keeper.
//!
//! ```text
//!  this process                               child process, one thread
//!  sites: SiteLedger + LedgerLink ── HTTP/2 ──── LedgerServer, Holder ──── PostgreSQL, with fsync
//! ```
//!
//! Idle sites only keep their leases. At full sites, more visitors arrive than there are slots for, so
//! each arrival asks for a slot. The time of an answer runs from the report of a site to the grant
//! that answers it, and includes the commit.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep_until},
};
use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    Holder, HolderTimes, LedgerLink, LedgerServer, LinkOptions, ServerKeys, SharedKeys, TcpDial,
    keeper::{Failover, PostgresKeeper},
};
use waiting_room_sites::{
    SiteId,
    escrow::{
        Admission, Epoch, EscrowRules, Incarnation, Kept, KeptAccount, SiteAction, SiteLedger,
        Standing, Term, ToSite,
    },
};

use crate::{
    child::{Process, end_with_starter, say},
    effort::Effort,
    figure::{Bar, figure},
    report::Report,
    requests::runtime,
    usage::{allow_many_connections, process_cpu_time, resident_bytes_of, wall_time},
};

const ROOM: &str = "shop";
/// The rules, with sessions that are short, so that slots become free during the measurement.
const RULES: EscrowRules = EscrowRules::new().session(Duration::from_secs(10));
/// The slots for each site.
const SLOTS: u32 = 10;
/// The visitors who arrive at a full site, in a second.
const ARRIVALS: f64 = 12.0;
/// The number of idle sites, and how many messages a second they may cost.
const IDLE_SITES: u16 = 300;
const MAX_IDLE: f64 = 50.0;
/// The messages a second of each full site that the ledger has to answer, and in which time.
const BUDGET: f64 = 11.0;
const MAX_P99_MS: f64 = 20.0;

/// Measures the ledger, prints the table, and returns failure if a bar is missed.
pub(crate) fn run(sites: u16, effort: Effort) -> Result<ExitCode> {
    allow_many_connections()?;
    let (sites, idle, [join, span]) = match effort {
        Effort::Full => (sites, IDLE_SITES, [5, 60]),
        Effort::Quick => (sites, IDLE_SITES, [5, 15]),
        Effort::Smoke => (3, 3, [1, 1]),
    };
    let (join, span) = (Duration::from_secs(join), Duration::from_secs(span));
    let columns = [
        "the global ledger",
        "sites",
        "answers a second",
        "CPU % of a core",
        "KiB a site",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "bars",
    ];
    let mut report = Report::new("The global ledger", "ledger", effort, &columns);
    let mut is_met = true;
    let idle = ("idle sites", idle, 0.0);
    for (name, sites, arrivals) in [idle, ("full sites", sites, ARRIVALS)] {
        let found = measured(sites, arrivals, join, span)?;
        let bars = match arrivals > 0.0 {
            true => vec![
                Bar::at_least("answers", BUDGET * f64::from(sites), found.answers),
                Bar::at_most("CPU %", 100.0, found.cpu_percent),
                Bar::at_most("p99", MAX_P99_MS, found.ms(0.99)),
            ],
            false => vec![Bar::at_most("answers", MAX_IDLE, found.answers)],
        };
        is_met &= bars.iter().all(|bar| bar.is_met() == Some(true));
        let figures = [
            found.answers,
            found.cpu_percent,
            found.kibibytes,
            found.ms(0.5),
            found.ms(0.99),
            found.ms(0.999),
        ];
        let cells = [name.to_owned(), sites.to_string()].into_iter().chain(figures.map(figure));
        report.row(cells.chain([Bar::all(&bars)]));
    }
    report.note("The memory is that of the process, with the connections of the sites.");
    report.note("PostgreSQL and the sites run on the same machine, and are not in the CPU time.");
    println!("{report}");
    let is_passed = is_met || effort == Effort::Smoke;
    Ok(if is_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was found with some number of sites.
struct Found {
    answers: f64,
    cpu_percent: f64,
    kibibytes: f64,
    /// The times of all answers, in order.
    took: Vec<Duration>,
}

impl Found {
    /// The time, in milliseconds, within which this share of the answers came.
    fn ms(&self, share: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank is positive and small"
        )]
        let rank = (self.took.len() as f64 * share) as usize;
        self.took.get(rank).map_or(f64::NAN, |took| took.as_secs_f64() * 1_000.0)
    }
}

/// Lets this number of sites speak for `span`, after all of them have had the time to `join`.
fn measured(sites: u16, arrivals: f64, join: Duration, span: Duration) -> Result<Found> {
    let postgres = PostgresServer::start()?;
    let arguments = ["serve-ledger", &postgres.url(), &sites.to_string()];
    let (ledger, address) = Process::of_this_program::<String>(&arguments)?;
    let before = resident_bytes_of(ledger.id())?;
    runtime().block_on(async {
        let begin = Instant::now() + join;
        let sites: Vec<_> = (1..=sites)
            .map(|number| Site::new(number, &address, arrivals))
            .collect::<Result<_>>()?;
        let count = f64::from(u16::try_from(sites.len())?);
        let sites: Vec<_> =
            sites.into_iter().map(|site| tokio::spawn(site.live(begin, begin + span))).collect();
        sleep_until(begin).await;
        let (spent, began) = (process_cpu_time(ledger.id())?, wall_time());
        sleep_until(begin + span).await;
        let spent = process_cpu_time(ledger.id())?.saturating_sub(spent);
        let seconds = wall_time().saturating_sub(began).as_secs_f64();
        let grown = resident_bytes_of(ledger.id())?.saturating_sub(before);
        let mut took = Vec::new();
        for site in sites {
            took.extend(site.await?.context("a site could not join")?);
        }
        took.sort_unstable();
        Ok(Found {
            answers: f64::from(u32::try_from(took.len())?) / seconds,
            cpu_percent: 100.0 * spent.as_secs_f64() / seconds,
            kibibytes: f64::from(u32::try_from(grown / 1_024)?) / count,
            took,
        })
    })
}

/// A site, and the visitors who arrive there.
struct Site {
    ledger: SiteLedger,
    link: LedgerLink,
    random: Xoshiro256PlusPlus,
    start: Instant,
    arrivals: f64,
    visitors: u128,
    /// The time of the last report that was answered.
    heard: Timestamp,
}

impl Site {
    fn new(number: u16, address: &str, arrivals: f64) -> Result<Self> {
        let life = (SiteId::new(number), Incarnation::new(number.into()));
        let ledger = SiteLedger::new(life.0, life.1, RULES, Timestamp::from_secs(1))?;
        let options = LinkOptions::new(ROOM, life, &RULES, [address.to_owned()], keys()?);
        Ok(Self {
            ledger,
            link: LedgerLink::connect(TcpDial::new(), options),
            random: Xoshiro256PlusPlus::seed_from_u64(number.into()),
            start: Instant::now(),
            arrivals,
            visitors: 0,
            heard: Timestamp::ZERO,
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1) + self.start.elapsed()
    }

    /// Lives until `end`, and returns the times of the answers since `begin`. `None` if the site has
    /// no account then.
    async fn live(mut self, begin: Instant, end: Instant) -> Option<Vec<Duration>> {
        let mut took = Vec::new();
        let mut arrival = self.next_arrival();
        while Instant::now() < end {
            let wake = self.ledger.next_wake().since(Timestamp::from_secs(1));
            let due = (self.start + wake).min(arrival).min(end);
            tokio::select! {
                message = self.link.receive() => {
                    let (message, now) = (message?, self.now());
                    if let ToSite::Grant(grant) = &message
                        && grant.heard > self.heard
                    {
                        self.heard = grant.heard;
                        if Instant::now() >= begin {
                            took.push(now.since(grant.heard));
                        }
                    }
                    let actions = self.ledger.receive(&message, now);
                    self.carry_out(actions);
                }
                () = sleep_until(due) => {
                    if arrival <= Instant::now() {
                        self.arrive();
                        arrival = self.next_arrival();
                    }
                    let actions = self.ledger.tick(self.now());
                    self.carry_out(actions);
                }
            }
        }
        (self.ledger.epoch().count() > 0).then_some(took)
    }

    /// The time of the next arrival, with exponential gaps.
    fn next_arrival(&mut self) -> Instant {
        if self.arrivals == 0.0 {
            return Instant::now() + Duration::from_secs(3_600);
        }
        let gap = -(1.0 - self.random.random::<f64>()).ln() / self.arrivals;
        Instant::now() + Duration::from_secs_f64(gap)
    }

    fn arrive(&mut self) {
        self.visitors += 1;
        self.ledger.arrived();
        let admission = self.ledger.admit(VisitorId::new(self.visitors), self.now());
        if let Admission::Borrow { ask: Some(ask), .. } = admission {
            self.link.send(ask);
        }
    }

    fn carry_out(&self, actions: Vec<SiteAction>) {
        for action in actions {
            if let SiteAction::Send(message) = action {
                self.link.send(message);
            }
        }
    }
}

/// Serves the ledger of a room that is new in this database, until standard input ends.
pub(crate) fn serve(database: &str, sites: u16) -> Result<()> {
    end_with_starter();
    runtime().block_on(async {
        let mut keeper = PostgresKeeper::new(database, Failover::None, ROOM, "bench");
        keeper.create_tables().await?;
        let mut kept = Kept::new(Term::new(0), SLOTS * u32::from(sites), RULES);
        let account = KeptAccount::new(Epoch::default(), Standing::Away);
        kept.accounts = (1..=sites).map(|number| (SiteId::new(number), account)).collect();
        keeper.set_up(&kept).await?;
        let (holder, mut handle) = Holder::new(ROOM, keeper, HolderTimes::default());
        tokio::spawn(holder.run(std::future::pending()));
        handle.holding().await.context("the ledger has ended")?;
        let server = LedgerServer::new([(ROOM.to_owned(), handle)], ServerKeys::new(keys()?));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        say(&listener.local_addr()?.to_string())?;
        Ok(server.listen(&listener).await?)
    })
}

fn keys() -> Result<SharedKeys> {
    Ok(SharedKeys::parse(&"a".repeat(64))?)
}
