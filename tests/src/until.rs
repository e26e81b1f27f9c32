//! Waiting for what others do.

use std::{future::Future, time::Duration};

use tokio::time;

/// Asks until there is an answer, and returns it.
///
/// # Panics
///
/// If there is none for half a minute. The message says `what` was waited for.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let mut beat = time::interval(Duration::from_millis(50));
    let asking = async {
        loop {
            beat.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    };
    match time::timeout(PATIENCE, asking).await {
        Ok(answer) => answer,
        Err(_) => panic!("waited {PATIENCE:?} in vain: {what}"),
    }
}

/// Stays away as long as an answer says, as a well-behaved client does.
pub async fn obey(retry_after: Duration) {
    time::sleep(retry_after).await;
}

/// How long anything may take. Far more than it does, on a machine that has other things to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
