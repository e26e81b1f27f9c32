//! The visitors of a shop, each with a plan that is drawn before it arrives.
//!
//! The HTTP clients of `waiting-room-crowd` follow these plans. All of them follow from the seed.

use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp, Geometric, LogNormal};

/// The behaviour of one visitor, as far as it does not depend on the room.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "this is all that a visitor plans")]
pub struct Plan {
    /// The time of arrival, from the start of the run.
    pub arrival: Duration,
    /// The kind of client.
    pub kind: Kind,
    /// Whether it keeps its token.
    pub memory: Memory,
    /// The time that it spends on each page before it requests the next.
    pub thoughts: Vec<Duration>,
    /// The end of the visit.
    pub ending: Ending,
    /// The time after which it gives up waiting; `None` if it waits to the end.
    pub patience: Option<Duration>,
    /// A time in which it does not wait, although it still wants to get in.
    pub absence: Option<Absence>,
}

/// The kind of client, which determines its requests and the form of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other client")]
pub enum Kind {
    /// A program with a cookie jar, which accepts JSON and obeys `Retry-After`.
    ApiWithCookies,
    /// A program that stores its token itself and sends it in a header.
    ApiWithToken,
    /// A browser without scripts: it navigates, and obeys `Refresh`.
    Browser,
    /// A browser with scripts: it navigates once, then the waiting page polls in the background.
    ScriptedBrowser,
}

/// Whether a visitor keeps its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is kept or not")]
pub enum Memory {
    /// It is a new visitor at each request.
    Forgets,
    /// It keeps its token.
    Keeps,
}

/// The end of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other end")]
pub enum Ending {
    /// It checks out, which ends the session.
    Checkout,
    /// It closes the tab without notice.
    Silence,
}

/// A visitor closes the tab while it waits, and returns while its place is still kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an absence has a beginning and an end")]
pub struct Absence {
    /// The number of answers that ask it to wait before it leaves.
    pub after: u32,
    /// The duration of the absence.
    pub lasts: Duration,
}

/// The times that bound the behaviour of a crowd.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "there is no other bound")]
pub struct Pace {
    /// The time over which it arrives.
    pub over: Duration,
    /// The longest absence. It is short enough that every place is kept.
    pub longest_absence: Duration,
}

impl Plan {
    /// Draws the arrivals of a crowd, in ascending order: each time until `over` is equally likely.
    #[must_use]
    pub fn even_arrivals(visitors: u32, over: Duration, chance: &mut impl Rng) -> Vec<Duration> {
        let times = (0..visitors).map(|_| over.mul_f64(chance.random_range(0.0..1.0)));
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        times
    }

    /// Draws the behaviour of a visitor that arrives at this time.
    #[must_use]
    pub fn draw(arrival: Duration, pace: &Pace, chance: &mut impl Rng) -> Self {
        let kind = Kind::draw(chance);
        let forgets = kind != Kind::ApiWithToken && chance.random_bool(FORGETS);
        let ending =
            if chance.random_bool(CHECKS_OUT) { Ending::Checkout } else { Ending::Silence };
        let thoughts = (0..pages(chance)).map(|_| thought(chance)).collect();
        let patience = chance.random_bool(LOSES_PATIENCE).then(|| patience(chance));
        let absence = chance.random_bool(GOES_AWAY).then(|| Absence::draw(pace, chance));
        if forgets {
            // A visitor without a place to lose does not wait for long, and without a session there
            // is nothing to end.
            let patience = Some(patience.unwrap_or(FORGETFUL_PATIENCE));
            let memory = Memory::Forgets;
            let ending = Ending::Silence;
            let absence = None;
            return Self { arrival, kind, memory, thoughts, ending, patience, absence };
        }
        let memory = Memory::Keeps;
        Self { arrival, kind, memory, thoughts, ending, patience, absence }
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

    /// Returns whether this client is a browser.
    #[must_use]
    pub const fn is_browser(self) -> bool {
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

/// The number of pages: a few for most visitors, many for some.
fn pages(chance: &mut impl Rng) -> u64 {
    let more = Geometric::new(0.3).expect("the chance to stop is between 0 and 1");
    (1 + more.sample(chance)).min(MAX_PAGES)
}

/// The time spent on a page: mostly a few seconds, sometimes many.
fn thought(chance: &mut impl Rng) -> Duration {
    let seconds = LogNormal::new(1.3, 0.7).expect("the deviation is positive").sample(chance);
    Duration::from_secs_f64(f64::clamp(seconds, 0.3, 20.0))
}

fn patience(chance: &mut impl Rng) -> Duration {
    let more = Exp::new(1.0 / 40.0).expect("the rate is positive").sample(chance);
    Duration::from_secs_f64(f64::clamp(5.0 + more, 5.0, 600.0))
}

/// The share of visitors who keep no token.
const FORGETS: f64 = 0.04;
/// The share of visitors who check out.
const CHECKS_OUT: f64 = 0.35;
/// The share of visitors who give up before they are admitted.
const LOSES_PATIENCE: f64 = 0.15;
/// The share of visitors who leave for a while if they have to wait.
const GOES_AWAY: f64 = 0.12;
const FORGETFUL_PATIENCE: Duration = Duration::from_secs(45);
const MAX_PAGES: u64 = 12;
