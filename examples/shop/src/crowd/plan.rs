//! What a visitor will do, drawn before it comes.

use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp, Geometric, LogNormal};

/// Everything about one visitor that is not up to the room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// When it comes, from the beginning of the run on.
    pub(super) arrival: Duration,
    pub(super) kind: Kind,
    pub(super) memory: Memory,
    /// How long it looks at each page before it goes to the next.
    pub(super) thoughts: Vec<Duration>,
    pub(super) ending: Ending,
    /// After waiting for this long it gives up; `None` if it waits to the end.
    pub(super) patience: Option<Duration>,
    pub(super) absence: Option<Absence>,
}

/// What kind of client it is, and so how it asks and how it is told to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program with a cookie jar, which takes JSON and obeys `Retry-After`.
    ApiWithCookies,
    /// A program that keeps its token itself and sends it in a header.
    ApiWithToken,
    /// A browser without scripts: it navigates, and obeys `Refresh`.
    Browser,
    /// A browser with scripts: it navigates once, then the waiting page asks in the background.
    ScriptedBrowser,
}

/// Whether it keeps what it is given to be recognized by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// It is somebody new at each request.
    Forgets,
    Keeps,
}

/// How a visit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It buys something, which ends the session.
    Checkout,
    /// It closes the tab, and nobody is told.
    Silence,
}

/// It closes the tab while it waits, and comes back within the time its place is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absence {
    /// After it was told to wait so many times.
    pub(super) after: u32,
    pub(super) lasts: Duration,
}

/// The times that a crowd lives in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// It arrives within this time.
    pub(super) over: Duration,
    /// Nobody is away for longer, so that every place is kept.
    pub(super) longest_absence: Duration,
}

impl Plan {
    /// Draws what a visitor does who comes at this time.
    pub(super) fn draw(arrival: Duration, pace: &Pace, chance: &mut impl Rng) -> Self {
        let kind = Kind::draw(chance);
        let forgets = kind != Kind::ApiWithToken && chance.random_bool(FORGETS);
        let ending =
            if chance.random_bool(CHECKS_OUT) { Ending::Checkout } else { Ending::Silence };
        let thoughts = (0..pages(chance)).map(|_| thought(chance)).collect();
        let patience = chance.random_bool(LOSES_PATIENCE).then(|| patience(chance));
        let absence = chance.random_bool(GOES_AWAY).then(|| Absence::draw(pace, chance));
        if forgets {
            // Nobody who has no place to lose waits for long, and what has no session is not ended.
            let patience = Some(patience.unwrap_or(FORGETFUL_PATIENCE));
            let (memory, ending, absence) = (Memory::Forgets, Ending::Silence, None);
            return Self { arrival, kind, memory, thoughts, ending, patience, absence };
        }
        Self { arrival, kind, memory: Memory::Keeps, thoughts, ending, patience, absence }
    }
}

impl Plan {
    /// The same visitor, if it keeps its cookies, stays, and waits to the end.
    pub(super) fn obedient(self) -> Self {
        Self { memory: Memory::Keeps, patience: None, absence: None, ..self }
    }
}

impl Kind {
    fn draw(chance: &mut impl Rng) -> Self {
        match chance.random_range(0..100) {
            0..45 => Self::ScriptedBrowser,
            45..70 => Self::Browser,
            70..85 => Self::ApiWithCookies,
            _ => Self::ApiWithToken,
        }
    }

    /// Whether somebody looks at what it gets.
    pub(super) const fn is_browser(self) -> bool {
        matches!(self, Self::Browser | Self::ScriptedBrowser)
    }
}

impl Absence {
    fn draw(pace: &Pace, chance: &mut impl Rng) -> Self {
        let after = chance.random_range(2..=4);
        let lasts = pace.over.mul_f64(chance.random_range(0.1..0.4)).min(pace.longest_absence);
        Self { after, lasts }
    }
}

/// Most look at a few pages, some at many.
fn pages(chance: &mut impl Rng) -> u64 {
    let more = Geometric::new(0.3).expect("the chance to stop is between 0 and 1");
    (1 + more.sample(chance)).min(MAX_PAGES)
}

/// Mostly a few seconds, sometimes many.
fn thought(chance: &mut impl Rng) -> Duration {
    let seconds = LogNormal::new(1.3, 0.7).expect("the deviation is positive").sample(chance);
    Duration::from_secs_f64(f64::clamp(seconds, 0.3, 20.0))
}

fn patience(chance: &mut impl Rng) -> Duration {
    let more = Exp::new(1.0 / 40.0).expect("the rate is positive").sample(chance);
    Duration::from_secs_f64(f64::clamp(5.0 + more, 5.0, 600.0))
}

/// The share of visitors who keep no cookies.
const FORGETS: f64 = 0.04;
/// The share of visitors who end with a checkout.
const CHECKS_OUT: f64 = 0.35;
/// The share of visitors who do not wait to the end.
const LOSES_PATIENCE: f64 = 0.15;
/// The share of visitors who, if they wait, go away for a while.
const GOES_AWAY: f64 = 0.12;
const FORGETFUL_PATIENCE: Duration = Duration::from_secs(45);
const MAX_PAGES: u64 = 12;
