//! The rules of a gate: limit, queue, longest wait, and discipline.
//!
//! All rules except the limit are fixed when the gate is created. Every rule has bounds, and
//! [`GateRules::validate`] checks them all.

use std::time::Duration;

use super::counter::Counts;
use crate::{ConfigError, error::ConfigErrorKind};

/// The rules of one gate.
///
/// Each rule is a public field, which a method of the same name sets. The values are checked only by [`validate`](Self::validate), which
/// [`Gate::new`](super::Gate::new) calls.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::gate::{Discipline, GateRules};
///
/// let rules = GateRules::new(64).queue(256).max_wait(Duration::from_secs(5));
/// assert_eq!(rules, rules.clone().discipline(Discipline::default()));
/// assert!(rules.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRules {
    /// The initial limit, or `None` if there is no limit.
    pub limit: Option<u32>,
    /// The maximum number of waiting requests.
    pub queue: u32,
    /// The longest wait of any request.
    pub max_wait: Duration,
    /// The order in which waiting requests are served.
    pub discipline: Discipline,
    /// The longest time after which a refused client is asked to come back.
    pub longest_retry: Duration,
}

/// The order in which waiting requests are served, and the rule for how long a request may wait.
///
/// The default, controlled delay, suits most services. For a comparison of the disciplines under
/// overload, bursts and unequal tenants, see the
/// [guide](https://github.com/tower-waiting-room/tower-waiting-room/blob/main/docs/which-discipline.md).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discipline {
    /// Requests are served in order of arrival until the queue has been non-empty for an
    /// `interval`. From then on, the newest request is served first. A full queue always evicts its
    /// oldest request.
    ///
    /// Under overload, a request is served either soon or not at all. A client cannot be told its
    /// position in the queue, because each new arrival changes that position.
    AdaptiveLifo {
        /// The time for which the queue may be non-empty before the gate counts as overloaded.
        interval: Duration,
    },
    /// Requests are served in order of arrival. Once the queue has been non-empty for an
    /// `interval`, the longest wait of new requests decreases to the `target`.
    ///
    /// A tenant, such as a client's network, has at most an eighth of the queue in line. Its other
    /// requests wait behind the line. Whenever one of its requests leaves the line, the next one
    /// joins the end. To make room for a tenant below this share, a full queue evicts the newest
    /// request behind the line.
    ///
    /// Bursts are absorbed, and a standing queue is kept short ("controlled delay", as in B.
    /// Maurer, *Fail at Scale*, ACM Queue 13(8), 2015). The longest wait decreases from `max_wait`
    /// to the target over another half interval, because a sudden decrease would cause the last
    /// requests of a burst to be refused.
    ControlledDelay {
        /// The longest wait under overload.
        target: Duration,
        /// The time for which the queue may be non-empty before the gate counts as overloaded.
        interval: Duration,
    },
    /// Tenants with waiting requests take turns, and the requests of each tenant are served in
    /// order of arrival (deficit round robin with a cost of one: M. Shreedhar and G. Varghese,
    /// SIGCOMM 1995). A full queue evicts the newest request of the tenant with the most waiting
    /// requests.
    ///
    /// The turns do not take run times into account, so a tenant with long-running requests may
    /// hold most of the permits. Unlike controlled delay, this discipline does not shorten waits
    /// under overload, so [`max_wait`](GateRules::max_wait) should be well below the time after
    /// which clients give up.
    FairByTenant(Tenants),
    /// Requests are served in order of arrival, and each request waits for at most `max_wait`.
    Fifo,
    /// Classes with lower numbers are served first. To make room for a request of a lower class, a
    /// full queue evicts the newest request of the highest class. If the queue has space for as
    /// many requests as there are reserved permits in total, each class is guaranteed space for one
    /// waiting request per reserved permit.
    Priority {
        /// The number of permits reserved for each class. While a class has fewer running requests
        /// than reserved permits, its waiting requests are served before those of classes whose
        /// reserved permits are all in use, no matter how long these have waited. Reserved permits
        /// that a class does not need are available to other classes.
        ///
        /// Lowering the limit does not reduce the number of reserved permits. If these permits make
        /// up the whole limit, classes without reserved permits get only the permits that other
        /// classes leave unused.
        reserved: Vec<u32>,
        /// The length of an aging period. A request's class number is lowered by one for each full
        /// period that the request has waited. Aging prevents starvation, unless the reserved
        /// permits of other classes take up the whole limit.
        aging: Duration,
    },
}

/// The way in which tenants are separated in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tenants {
    /// Each tenant has its own lane. Use this variant if clients cannot invent tenants, for example
    /// if each tenant is an account.
    Each,
    /// Each tenant is assigned 8 of 128 lanes, and a request joins the shortest lane of its tenant
    /// (shuffle sharding). Use this variant if clients can invent tenants.
    ///
    /// A client that invents a thousand tenants gets at most 128 turns per round, and other clients
    /// are served about as well as in a single line. With [`Each`](Self::Each), the other clients
    /// would hardly be served at all. The drawback of shuffle sharding is that even a client with
    /// few tenants gets up to eight turns per round for each tenant.
    ///
    /// Young: the number of lanes may change in any release.
    Shuffled,
}

impl GateRules {
    /// The highest possible limit, 4 194 303. Even a gate without a limit runs at most this many
    /// requests at once.
    pub const MAX_LIMIT: u32 = Counts::MAX_IN_FLIGHT;
    /// The maximum length of a queue, 524 287 requests.
    pub const MAX_QUEUE: u32 = (1 << 19) - 1;
    /// The longest duration that any rule allows: one hour.
    pub const MAX_WAIT: Duration = Duration::from_secs(3_600);
    /// The maximum number of priority classes.
    pub const MAX_CLASSES: usize = 16;

    /// Creates rules that allow at most `limit` requests to run at once, and up to 1 024 more
    /// requests to wait for up to 5 s.
    ///
    /// The discipline is controlled delay with a target of 100 ms, and refused clients are asked to
    /// come back after at most 60 s.
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

    /// Sets the maximum number of requests that run at once. A limit of 0 closes the gate, and
    /// `None` removes the limit.
    #[must_use]
    pub fn limit(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.limit = limit.into();
        self
    }

    /// Sets the maximum number of waiting requests; 1 024 by default. With a maximum of 0, no
    /// request ever waits.
    ///
    /// This number bounds the memory use and the size of the bursts that can be absorbed. The wait
    /// itself is bounded by the discipline.
    #[must_use]
    pub fn queue(mut self, queue: u32) -> Self {
        self.queue = queue;
        self
    }

    /// Sets the longest wait of a request; 5 s by default, at most one hour.
    ///
    /// The longest wait should be below the time after which clients give up. A request that is
    /// served after its client has given up is served in vain, and under steady overload this
    /// eventually happens to all requests.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Sets the order in which waiting requests are served; controlled delay by default.
    #[must_use]
    pub fn discipline(mut self, discipline: Discipline) -> Self {
        self.discipline = discipline;
        self
    }

    /// Sets the longest time after which a refused client is asked to come back; 60 s by default.
    ///
    /// All clients that would have to come back even later are asked to come back after exactly
    /// this time.
    #[must_use]
    pub fn longest_retry(mut self, longest: Duration) -> Self {
        self.longest_retry = longest;
        self
    }

    /// Checks that every rule is within its bounds.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds. The error contains the field, the value and the
    /// bound of the first such rule.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(limit) = self.limit {
            at_most("limit", limit, Self::MAX_LIMIT)?;
        }
        at_most("queue", self.queue, Self::MAX_QUEUE)?;
        check_time("max_wait", self.max_wait, Self::MAX_WAIT)?;
        check_time("longest_retry", self.longest_retry, Self::MAX_WAIT)?;
        match &self.discipline {
            Discipline::AdaptiveLifo { interval } => {
                check_time("interval", *interval, Self::MAX_WAIT)
            }
            Discipline::ControlledDelay { target, interval } => {
                check_time("target", *target, Self::MAX_WAIT)?;
                check_time("interval", *interval, Self::MAX_WAIT)
            }
            Discipline::Priority { reserved, aging } => {
                check_time("aging", *aging, Self::MAX_WAIT)?;
                self.validate_classes(reserved)
            }
            Discipline::FairByTenant(_) | Discipline::Fifo => Ok(()),
        }
    }

    /// Checks that the number of classes is within its bounds, and that the limit covers all
    /// reserved permits.
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
            // A limit of 0 usually closes the gate only temporarily, so such a limit does not
            // contradict any reservation.
            Some(limit) if limit > 0 && all > limit.into() => {
                let given = format!("{all} permits in total");
                let expected = format!("at most the limit, {limit}");
                Err(ConfigError::new(ConfigErrorKind::Contradicts, "reserved", given, expected))
            }
            _ => Ok(()),
        }
    }
}

impl Discipline {
    /// Returns the number of priority classes, or 0 for a discipline that does not use classes.
    pub(super) const fn classes(&self) -> usize {
        match self {
            Self::Priority { reserved, .. } => reserved.len(),
            Self::AdaptiveLifo { .. }
            | Self::ControlledDelay { .. }
            | Self::FairByTenant(_)
            | Self::Fifo => 0,
        }
    }
}

impl Default for Discipline {
    /// Returns controlled delay with a target of 100 ms and an interval of 1 s.
    ///
    /// With these values, controlled delay serves all requests of a burst that lasts for up to a
    /// second, and limits waits to a tenth of a second under overload.
    fn default() -> Self {
        Self::ControlledDelay {
            target: Duration::from_millis(100),
            interval: Duration::from_secs(1),
        }
    }
}

/// Checks a count against its upper bound.
fn at_most(field: &'static str, given: u32, most: u32) -> Result<(), ConfigError> {
    if given <= most {
        return Ok(());
    }
    let expected = format!("at most {most}");
    Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
}

/// Checks that a duration is longer than zero and at most as long as `most`.
fn check_time(field: &'static str, given: Duration, most: Duration) -> Result<(), ConfigError> {
    let kind = match given {
        Duration::ZERO => ConfigErrorKind::TooSmall,
        longer if longer > most => ConfigErrorKind::TooLarge,
        _ => return Ok(()),
    };
    let given = format!("{given:?}");
    let expected = format!("more than 0 s and at most {} s", most.as_secs());
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
            (
                rules().max_wait(Duration::from_secs(3_601)),
                "max_wait is 3601s, expected more than 0 s and at most 3600 s",
            ),
            (rules().discipline(priority(&[])), "reserved is 0 classes, expected at least 1"),
            (rules().discipline(priority(&[0; 17])), "reserved is 17 classes, expected at most 16"),
            (
                rules().discipline(priority(&[3, 2])),
                "reserved is 5 permits in total, expected at most the limit, 4",
            ),
        ] {
            assert_eq!(rules.validate().unwrap_err().to_string(), message);
        }
        assert!(rules().discipline(priority(&[2, 2])).validate().is_ok());
        assert!(rules().max_wait(GateRules::MAX_WAIT).validate().is_ok());
        assert!(rules().limit(None).discipline(priority(&[9, 9])).validate().is_ok());
    }
}
