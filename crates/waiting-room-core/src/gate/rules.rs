//! What a gate must obey.

use std::time::Duration;

use super::counter::Counts;
use crate::{ConfigError, ConfigErrorKind};

/// The rules of one gate.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Discipline, GateRules};
///
/// let rules = GateRules::new(64).queue(256).max_wait(Duration::from_secs(5));
/// assert_eq!(rules, rules.clone().discipline(Discipline::default()));
/// assert!(rules.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRules {
    pub(super) limit: Option<u32>,
    pub(super) queue: u32,
    pub(super) max_wait: Duration,
    pub(super) discipline: Discipline,
    pub(super) longest_retry: Duration,
}

/// In which order those who wait are let in, and for how long they may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discipline {
    /// First come, first served, until the queue has not been empty for an `interval`: from then on
    /// the newest first, and when the queue is full the oldest makes room.
    ///
    /// Who is served is served soon, and the others not at all. Nobody can be told a position.
    AdaptiveLifo {
        /// How long a queue may stand before it counts as overload.
        interval: Duration,
    },
    /// First come, first served. Once the queue has not been empty for an `interval`, whoever
    /// comes waits no longer than the `target`: a burst is absorbed, and a standing queue is kept
    /// short ("controlled delay", as in B. Maurer, *Fail at Scale*, ACM Queue 13(8), 2015). From
    /// `max_wait` to the target it takes half an interval more, so that a burst is not cut off.
    ControlledDelay {
        /// The longest wait under overload.
        target: Duration,
        /// How long a queue may stand before it counts as overload.
        interval: Duration,
    },
    /// By turns among the tenants that wait, and within each first come, first served (deficit
    /// round robin: M. Shreedhar and G. Varghese, SIGCOMM 1995, with a cost of one). When the
    /// queue is full, the newest of the tenant with the most makes room.
    ///
    /// Turns are counted, and not how long each takes: a tenant whose requests run for long holds
    /// most of the permits. Under overload nobody's wait is made shorter, as controlled delay does,
    /// so [`max_wait`](GateRules::max_wait) belongs well below the time after which clients give up.
    FairByTenant(Tenants),
    /// First come, first served, until `max_wait` is over.
    Fifo,
    /// By class, the lowest number first. When the queue is full, the newest of the highest number
    /// makes room for a lower one; but as many of a class as have a reserved permit find a place, and
    /// keep it.
    Priority {
        /// For each class, how many of the permits it is served first for, whatever others wait, and
        /// for however long. What it does not use, others may. They do not shrink with a limit that
        /// is lowered: where together they are the whole of it, others have only what is left over.
        reserved: Vec<u32>,
        /// After each such time a waiter counts as one class lower, so that nobody starves but for
        /// the shares of others.
        aging: Duration,
    },
}

/// How tenants are told apart in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tenants {
    /// Each has a queue to itself: for keys that a client cannot make up.
    Each,
    /// Each is dealt 8 of 128 queues and joins the shortest of them (shuffle sharding). Somebody
    /// with a thousand names has no more than 128 turns then, and the others are served as if all
    /// stood in one line, instead of hardly at all; but one with few names has up to eight turns for
    /// each.
    Shuffled,
}

impl GateRules {
    /// The highest limit, and how many run at most where there is none.
    pub const MAX_LIMIT: u32 = Counts::MAX_IN_FLIGHT;
    /// The longest queue.
    pub const MAX_QUEUE: u32 = (1 << 19) - 1;
    /// The longest wait.
    pub const MAX_WAIT: Duration = Duration::from_secs(3_600);
    /// The most classes of priority.
    pub const MAX_CLASSES: usize = 16;

    /// At most `limit` run at once, and 1 024 more wait for at most 5 s.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self {
            limit: Some(limit),
            queue: 1_024,
            max_wait: Duration::from_secs(5),
            discipline: Discipline::default(),
            longest_retry: Duration::from_secs(60),
        }
    }

    /// How many run at once: none with 0, which closes the gate, and as many as come with `None`.
    #[must_use]
    pub fn limit(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.limit = limit.into();
        self
    }

    /// How many wait; 1 024 by default. With 0 nobody does.
    ///
    /// A bound on memory, and on the burst that can be served: how long somebody waits is for the
    /// discipline to say.
    #[must_use]
    pub fn queue(mut self, queue: u32) -> Self {
        self.queue = queue;
        self
    }

    /// How long somebody waits at most; 5 s by default.
    ///
    /// It belongs below the time after which clients give up: who waits longer is served for
    /// nothing, and under a steady overload that becomes everybody.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// In which order they go.
    #[must_use]
    pub fn discipline(mut self, discipline: Discipline) -> Self {
        self.discipline = discipline;
        self
    }

    /// The longest time after which somebody who is refused is told to come back; 60 s by default.
    #[must_use]
    pub fn longest_retry(mut self, longest: Duration) -> Self {
        self.longest_retry = longest;
        self
    }

    /// The limit in force.
    #[must_use]
    pub const fn current_limit(&self) -> Option<u32> {
        self.limit
    }

    /// The longest wait in force.
    #[must_use]
    pub const fn current_max_wait(&self) -> Duration {
        self.max_wait
    }

    /// The discipline in force.
    #[must_use]
    pub const fn current_discipline(&self) -> &Discipline {
        &self.discipline
    }

    /// The one check that all rules go through.
    ///
    /// # Errors
    ///
    /// A number that is out of bounds, with the field and both values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(limit) = self.limit {
            at_most("limit", limit, Self::MAX_LIMIT)?;
        }
        at_most("queue", self.queue, Self::MAX_QUEUE)?;
        time("max_wait", self.max_wait, Self::MAX_WAIT)?;
        time("longest_retry", self.longest_retry, Self::MAX_WAIT)?;
        match &self.discipline {
            Discipline::AdaptiveLifo { interval } => time("interval", *interval, Self::MAX_WAIT),
            Discipline::ControlledDelay { target, interval } => {
                time("target", *target, Self::MAX_WAIT)?;
                time("interval", *interval, Self::MAX_WAIT)
            }
            Discipline::Priority { reserved, aging } => {
                time("aging", *aging, Self::MAX_WAIT)?;
                self.validate_classes(reserved)
            }
            Discipline::FairByTenant(_) | Discipline::Fifo => Ok(()),
        }
    }

    fn validate_classes(&self, reserved: &[u32]) -> Result<(), ConfigError> {
        let given = format!("{} classes", reserved.len());
        if reserved.is_empty() {
            return Err(ConfigError::new(
                ConfigErrorKind::Missing,
                "reserved",
                given,
                "at least 1",
            ));
        }
        if reserved.len() > Self::MAX_CLASSES {
            let kind = ConfigErrorKind::TooLarge;
            return Err(ConfigError::new(kind, "reserved", given, "at most 16"));
        }
        let all = reserved.iter().map(|&permits| u64::from(permits)).sum::<u64>();
        match self.limit {
            Some(limit) if limit > 0 && all > limit.into() => {
                let given = format!("{all} permits in all");
                let expected = format!("at most the limit, {limit}");
                Err(ConfigError::new(ConfigErrorKind::Contradicts, "reserved", given, expected))
            }
            _ => Ok(()),
        }
    }
}

impl Discipline {
    /// How many classes of priority it knows.
    pub(super) const fn classes(&self) -> usize {
        match self {
            Self::Priority { reserved, .. } => reserved.len(),
            _ => 0,
        }
    }
}

impl Default for Discipline {
    /// Controlled delay with a target of 100 ms and an interval of 1 s: it serves a burst of a
    /// second whole, and under overload keeps the queue to a tenth of one.
    fn default() -> Self {
        Self::ControlledDelay {
            target: Duration::from_millis(100),
            interval: Duration::from_secs(1),
        }
    }
}

fn at_most(field: &'static str, given: u32, most: u32) -> Result<(), ConfigError> {
    if given <= most {
        return Ok(());
    }
    let expected = format!("at most {most}");
    Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
}

fn time(field: &'static str, given: Duration, most: Duration) -> Result<(), ConfigError> {
    let kind = match given {
        Duration::ZERO => ConfigErrorKind::TooSmall,
        longer if longer > most => ConfigErrorKind::TooLarge,
        _ => return Ok(()),
    };
    let (given, expected) =
        (format!("{given:?}"), format!("more than 0 s and at most {} s", most.as_secs()));
    Err(ConfigError::new(kind, field, given, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_bounds_is_named_with_both_values() {
        let priority = |reserved: &[u32]| Discipline::Priority {
            reserved: reserved.to_vec(),
            aging: Duration::from_secs(1),
        };
        let rules = || GateRules::new(4);
        for (rules, message) in [
            (rules().limit(4_194_304), "limit is 4194304, expected at most 4194303"),
            (rules().queue(524_288), "queue is 524288, expected at most 524287"),
            (
                rules().max_wait(Duration::ZERO),
                "max_wait is 0ns, expected more than 0 s and at most 3600 s",
            ),
            (rules().discipline(priority(&[])), "reserved is 0 classes, expected at least 1"),
            (rules().discipline(priority(&[0; 17])), "reserved is 17 classes, expected at most 16"),
            (
                rules().discipline(priority(&[3, 2])),
                "reserved is 5 permits in all, expected at most the limit, 4",
            ),
        ] {
            assert_eq!(rules.validate().unwrap_err().to_string(), message);
        }
        assert!(rules().discipline(priority(&[2, 2])).validate().is_ok());
        assert!(rules().limit(None).discipline(priority(&[9, 9])).validate().is_ok());
    }
}
