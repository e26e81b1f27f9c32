//! Refusals: of a site that asks for an account, and of an operator's change to the list of sites.

use std::{error::Error, fmt, time::Duration};

use crate::{
    SiteId,
    escrow::{Epoch, EscrowRules, Incarnation, RulesDigest, Term},
};

/// The message with which the global ledger refuses a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Refused {
    /// The term of the global ledger.
    pub term: Term,
    /// The incarnation that is refused. Other incarnations of the site ignore the message.
    pub incarnation: Incarnation,
    /// The epoch that the site had named. An account of another epoch is not affected.
    pub over: Epoch,
    /// The reason.
    pub reason: Refusal,
}

/// The reason why the global ledger refuses a site, as sent in a message. Its text is for the
/// operator of the global ledger, and calls the site "it"; the text of [`JoinRefused`] is for the
/// operator of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The site is being drained and holds nothing.
    Drained,
    /// The incarnation was fenced.
    Fenced,
    /// The site is not on the list of sites.
    NotListed,
    /// The site follows another policy than the sites that the global ledger serves: it counts
    /// while the others hold slots, or the other way round.
    Policy,
    /// The site has other rules than the global ledger.
    Rules {
        /// The rules of the global ledger.
        rules: EscrowRules,
        /// The digest of these rules, as the global ledger computes it.
        digest: RulesDigest,
    },
    /// The site names a term that is too far ahead of the global ledger's term to be believed.
    TermTooHigh {
        /// The term that the site names.
        given: Term,
        /// The latest term that the global ledger believes.
        most: Term,
    },
}

/// The reason why a site has no account, for the operator of the site.
///
/// The site asks again with each heartbeat, so it joins as soon as the reason is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JoinRefused {
    /// The site is being drained and holds nothing, so it can be removed.
    Drained {
        /// The site.
        site: SiteId,
    },
    /// The incarnation was fenced: the global ledger was told that the site is switched off, and
    /// its slots may belong to other sites. The site needs a new incarnation
    /// (`SiteLedger::restart`).
    Fenced {
        /// The site.
        site: SiteId,
        /// The fenced incarnation.
        incarnation: Incarnation,
    },
    /// The site is not on the list of the global ledger.
    NotListed {
        /// The site.
        site: SiteId,
    },
    /// The site follows another policy than the other sites. The visitors of sites that count are
    /// in no account, so no site may count while others hold slots, or the other way round.
    PolicyDiffers {
        /// The site.
        site: SiteId,
    },
    /// A time of the rules differs between the site and the global ledger.
    RulesDiffer {
        /// The name of the first rule that differs, as in [`EscrowRules::times`].
        field: &'static str,
        /// The value of the rule at the site.
        site: Duration,
        /// The value of the rule in the global ledger.
        global: Duration,
    },
    /// The site knows a term that is too far ahead of the global ledger's term to be believed.
    TermTooHigh {
        /// The site.
        site: SiteId,
        /// The term that the site knows.
        given: Term,
        /// The latest term that the global ledger believes.
        most: Term,
    },
    /// The times are equal, but the digests are not: the site and the ledger run different versions
    /// of this crate.
    VersionsDiffer {
        /// The digest that the site computes.
        site: RulesDigest,
        /// The digest that the global ledger computes.
        global: RulesDigest,
    },
}

/// The reason why the global ledger refuses a change to the list of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListRefused {
    /// The site holds slots, so it cannot be removed.
    Holds {
        /// The site.
        site: SiteId,
        /// The number of slots that the site holds.
        held: u64,
    },
    /// The site is the only one, so it cannot be removed.
    Last {
        /// The site.
        site: SiteId,
    },
    /// The site is already on the list, so it cannot be added.
    Listed {
        /// The site.
        site: SiteId,
    },
    /// The site is not on the list.
    NotListed {
        /// The site.
        site: SiteId,
    },
    /// The account that was to be fenced is not the current account of the site.
    OtherEpoch {
        /// The site.
        site: SiteId,
        /// The epoch of the account that was to be fenced.
        given: Epoch,
        /// The epoch of the site's account.
        current: Epoch,
    },
    /// The global ledger has replaced a lost one, and does not know yet what the site holds.
    Unknown {
        /// The site.
        site: SiteId,
    },
}

impl Refused {
    /// Creates the message with which the ledger of `term` answers an incarnation that has named
    /// the epoch `over`.
    #[must_use]
    pub const fn new(term: Term, incarnation: Incarnation, over: Epoch, reason: Refusal) -> Self {
        Self { term, incarnation, over, reason }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drained => f.write_str("it is being drained"),
            Self::Fenced => f.write_str("its incarnation is fenced"),
            Self::NotListed => f.write_str("it is not on the list of sites"),
            Self::Policy => f.write_str("its policy differs from that of the other sites"),
            Self::Rules { .. } => f.write_str("its rules differ from those of this ledger"),
            Self::TermTooHigh { given, most } => {
                let given = given.number();
                let most = most.number();
                write!(f, "it names term {given}, expected at most {most}")
            }
        }
    }
}

impl JoinRefused {
    /// The reason in the words of the site that has these rules.
    #[must_use]
    pub fn new(site: SiteId, rules: &EscrowRules, refused: &Refused) -> Self {
        match refused.reason {
            Refusal::Drained => Self::Drained { site },
            Refusal::Fenced => Self::Fenced { site, incarnation: refused.incarnation },
            Refusal::NotListed => Self::NotListed { site },
            Refusal::Policy => Self::PolicyDiffers { site },
            Refusal::Rules { rules: global, digest } => match rules.difference(&global) {
                Some((field, site, global)) => Self::RulesDiffer { field, site, global },
                None => Self::VersionsDiffer { site: RulesDigest::of(rules), global: digest },
            },
            Refusal::TermTooHigh { given, most } => Self::TermTooHigh { site, given, most },
        }
    }
}

impl fmt::Display for JoinRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drained { site } => write!(f, "site {} is being drained", site.number()),
            Self::Fenced { site, incarnation } => {
                let site = site.number();
                let bits = incarnation.bits();
                write!(f, "incarnation {bits:016x} of site {site} is fenced")
            }
            Self::NotListed { site } => {
                write!(f, "site {} is not on the list of the global ledger", site.number())
            }
            Self::PolicyDiffers { site } => {
                write!(
                    f,
                    "the policy of site {} is not that of the other sites: sites that hold slots \
                     and sites that count exclude each other",
                    site.number()
                )
            }
            Self::RulesDiffer { field, site, global } => {
                write!(f, "{field} is {site:?} at the site and {global:?} in the global ledger")
            }
            Self::TermTooHigh { site, given, most } => {
                let site = site.number();
                let given = given.number();
                let most = most.number();
                write!(
                    f,
                    "site {site} knows term {given}, expected at most {most}, the latest one that the \
                     global ledger believes"
                )
            }
            Self::VersionsDiffer { site, global } => {
                let site = site.bits();
                let global = global.bits();
                write!(
                    f,
                    "the digest of the same rules is {site:016x} at the site and {global:016x} in \
                     the global ledger, so their versions differ"
                )
            }
        }
    }
}

impl Error for JoinRefused {}

impl fmt::Display for ListRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds { site, held } => {
                write!(f, "site {} holds {held} slots, expected 0", site.number())
            }
            Self::Last { site } => write!(f, "site {} is the only site", site.number()),
            Self::Listed { site } => write!(f, "site {} is already on the list", site.number()),
            Self::NotListed { site } => write!(f, "site {} is not on the list", site.number()),
            Self::OtherEpoch { site, given, current } => {
                let number = |epoch: &Epoch| (epoch.term().number(), epoch.count());
                let (term, count) = number(given);
                let (current_term, current_count) = number(current);
                write!(
                    f,
                    "epoch is {term}/{count}, expected {current_term}/{current_count}, which is \
                     that of site {}",
                    site.number()
                )
            }
            Self::Unknown { site } => {
                write!(f, "it is not known yet what site {} holds", site.number())
            }
        }
    }
}

impl Error for ListRefused {}
