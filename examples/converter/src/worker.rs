//! Where conversions compute: on threads of their own, with the permit in their hands.

use tokio::{
    task::{JoinError, spawn_blocking},
    time::{Instant, sleep},
};
use tower_waiting_room::PermitHandle;

use crate::{cpu, pace::Pace};

/// A permit that is held since then, and how it is to be used.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) permit: Option<PermitHandle>,
    pub(crate) since: Instant,
    pub(crate) pace: Pace,
}

/// Computes on another thread.
///
/// The permit goes with the work, which cannot be stopped: when a client goes away, and with it the
/// future of its response, the permit is held on for as long as a core is in fact busy.
///
/// # Errors
///
/// The work has panicked.
///
/// # Cancel safety
///
/// The work goes on to its end, and nobody learns the result.
pub(crate) async fn compute<T: Send + 'static>(
    held: Held,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let compute = move || {
        let Held { permit, since, pace } = held;
        let before = cpu::of_thread();
        let result = work();
        let rest = pace.rest(cpu::of_thread() - before, since.elapsed());
        if permit.is_some() {
            tokio::spawn(async move {
                sleep(rest).await;
                drop(permit);
            });
        }
        result
    };
    spawn_blocking(compute).await
}
