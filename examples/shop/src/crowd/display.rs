//! What is to be seen while the crowd is about.
//!
//! The one place that looks into the room. Nothing of it goes into the report.

use std::{fmt, io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{sync::watch, time};
use tower_waiting_room::{Snapshot, WaitingRoomHandle};

use super::witness::{Glimpse, Witness};

/// Shows how it goes, until it is dropped: a bar on a terminal, else a line every few seconds.
///
/// `room` is the room as it is now; after a restart it is another.
pub(super) async fn show(
    room: watch::Receiver<WaitingRoomHandle>,
    witness: Arc<Witness>,
    visitors: u64,
) {
    let is_terminal = std::io::stderr().is_terminal();
    let mut ticks = time::interval(if is_terminal { REFRESH } else { PRINT });
    ticks.tick().await;
    let bar = Bar::new(visitors);
    loop {
        let handle = room.borrow().clone();
        let glimpse = witness.glimpse();
        if let Ok(snapshot) = handle.snapshot().await {
            let line = Line { snapshot: &snapshot, glimpse: &glimpse };
            if is_terminal {
                bar.0.set_message(line.to_string());
                bar.0.set_position(glimpse.people.came);
            } else {
                eprintln!("{:>4} of {visitors} came; {line}", glimpse.people.came);
            }
        }
        ticks.tick().await;
    }
}

/// A bar that goes when it is dropped.
struct Bar(ProgressBar);

impl Bar {
    fn new(visitors: u64) -> Self {
        let style = ProgressStyle::with_template(TEMPLATE)
            .expect("the template is well-formed, as a test shows")
            .progress_chars("━╸─");
        Self(ProgressBar::new(visitors).with_style(style))
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The room and the crowd in one line.
struct Line<'a> {
    snapshot: &'a Snapshot,
    glimpse: &'a Glimpse,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Snapshot { active, total_active_users, waiting, new_in_last_minute, .. } =
            self.snapshot;
        let Glimpse { wait_p50, wait_p95, refusals, failures, .. } = self.glimpse;
        write!(
            f,
            "active {active:>3}/{total_active_users}  in line {waiting:>4}  \
             let in {new_in_last_minute:>3}/min  waited p50 {:.0} s, p95 {:.0} s  \
             refusals {refusals}",
            wait_p50.as_secs_f64(),
            wait_p95.as_secs_f64(),
        )?;
        if *failures > 0 {
            write!(f, "  no answer {failures}")?;
        }
        Ok(())
    }
}

const TEMPLATE: &str = "{elapsed_precise} {bar:30.cyan} {pos}/{len} came\n{msg}";

/// How often a terminal is drawn.
const REFRESH: Duration = Duration::from_millis(250);

/// How often a line is printed where there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_can_be_made() {
        assert_eq!(Bar::new(7).0.length(), Some(7));
    }
}
