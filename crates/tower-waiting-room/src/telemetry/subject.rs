//! What is reported about: a limit or a gate, with the counters of what most requests do.

use std::sync::Arc;
#[cfg(feature = "metrics")]
use std::sync::OnceLock;

/// A limit that is reported about.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(super) name: Arc<str>,
    #[cfg(feature = "metrics")]
    pub(super) allowed: Frequent,
    #[cfg(feature = "metrics")]
    pub(super) refused: Frequent,
}

impl Subject {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            #[cfg(feature = "metrics")]
            allowed: Frequent::default(),
            #[cfg(feature = "metrics")]
            refused: Frequent::default(),
        }
    }
}

/// A counter that most requests increment, so it is found once: to find it takes memory for its
/// labels.
#[cfg(feature = "metrics")]
#[derive(Debug, Default)]
pub(super) struct Frequent(OnceLock<metrics::Counter>);

#[cfg(feature = "metrics")]
impl Frequent {
    pub(super) fn increment(&self, find: impl FnOnce() -> metrics::Counter) {
        self.0.get_or_init(find).increment(1);
    }
}
