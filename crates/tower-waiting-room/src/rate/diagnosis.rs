//! Finds out whether the limits are set up as they are meant.
//!
//! Looked at for the first requests only: a set-up that is wrong is wrong from the start.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use http::Extensions;

use super::policies::Policies;
use crate::{misconfiguration::Misconfiguration, request::Caller, telemetry::Telemetry};

/// What is known of the set-up of a layer. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct SetUp(Arc<AtomicU32>);

/// In the extensions of a request: the layers whose limits have counted it.
#[derive(Clone, Default)]
struct CountedBy(Vec<SetUp>);

impl SetUp {
    /// So many requests are looked at.
    const WATCHED: u32 = 1_024;

    /// Looks at a request, if it is one of the first; says whether it was.
    pub(super) fn watch(
        &self,
        caller: &Caller<'_>,
        policies: &Policies,
        telemetry: &Telemetry,
    ) -> bool {
        if self.0.load(Ordering::Relaxed) >= Self::WATCHED {
            return false;
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        // How the address is found matters only to limits that need it.
        if policies.need_address()
            && let Some(suspect) = caller.client_ip.suspect(caller.peer(), caller.head.headers())
        {
            telemetry.misconfigured(suspect);
        }
        let counted = caller.head.extensions().get::<CountedBy>();
        if counted.is_some_and(|counted| counted.0.iter().any(|it| Arc::ptr_eq(&it.0, &self.0))) {
            telemetry.misconfigured(Misconfiguration::CountedTwice);
        }
        true
    }

    /// Marks a request as counted.
    pub(super) fn mark(self, extensions: &mut Extensions) {
        extensions.get_or_insert_default::<CountedBy>().0.push(self);
    }
}
