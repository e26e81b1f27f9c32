//! Shows the progress of a run on standard error.
//!
//! This is the only module that queries the room. Nothing that it reads enters the report.

use std::{fmt, io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{select, sync::watch, time};
use tower_waiting_room::{handle::RoomHandle, room::RoomSnapshot};

use super::witness::{Glimpse, Witness};

/// The subject of the display.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scene {
    /// The current room, if it can be queried. A restart replaces it.
    pub room: Option<RoomHandle>,
    /// The latest event.
    pub news: String,
}

/// Shows the progress until the future is dropped: a bar on a terminal, otherwise a line every few
/// seconds.
pub(super) async fn show(mut scene: watch::Receiver<Scene>, witness: Arc<Witness>, visitors: u64) {
    let screen = Screen::new(visitors);
    let mut ticks = time::interval(screen.period());
    screen.tell(&scene.borrow_and_update().news);
    loop {
        select! {
            _ = ticks.tick() => {}
            Ok(()) = scene.changed() => screen.tell(&scene.borrow_and_update().news),
        }
        let room = scene.borrow().room.clone();
        let snapshot = match room {
            Some(room) => room.snapshot().await.ok(),
            None => None,
        };
        screen.draw(&Line { snapshot: snapshot.as_ref(), glimpse: &witness.glimpse() });
    }
}

impl Scene {
    /// A scene without access to the room, which shows the crowd and this event.
    #[must_use]
    pub const fn outside(news: String) -> Self {
        Self { room: None, news }
    }
}

/// The output of the display. A bar is removed when it is dropped.
enum Screen {
    Log { visitors: u64 },
    Terminal(ProgressBar),
}

impl Screen {
    fn new(visitors: u64) -> Self {
        if std::io::stderr().is_terminal() {
            Self::Terminal(bar(visitors))
        } else {
            Self::Log { visitors }
        }
    }

    const fn period(&self) -> Duration {
        match self {
            Self::Log { .. } => PRINT,
            Self::Terminal(_) => REFRESH,
        }
    }

    fn tell(&self, news: &str) {
        match self {
            Self::Log { .. } => eprintln!("{news}"),
            Self::Terminal(bar) => bar.println(news),
        }
    }

    fn draw(&self, line: &Line<'_>) {
        let came = line.glimpse.people.came;
        match self {
            Self::Log { visitors } => eprintln!("{came:>4} of {visitors} came; {line}"),
            Self::Terminal(bar) => {
                bar.set_message(line.to_string());
                bar.set_position(came);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Self::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn bar(visitors: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE)
        .expect("the template is well-formed, as a test shows")
        .progress_chars("━╸─");
    ProgressBar::new(visitors).with_style(style)
}

/// The state of the room and of the crowd in one line.
struct Line<'a> {
    snapshot: Option<&'a RoomSnapshot>,
    glimpse: &'a Glimpse,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(snapshot) = self.snapshot {
            let RoomSnapshot { active, total_active_users, waiting, new_in_last_minute, .. } =
                snapshot;
            write!(
                f,
                "active {active:>3}/{total_active_users}  in line {waiting:>4}  \
                 let in {new_in_last_minute:>3}/min  ",
            )?;
        }
        let Glimpse { let_in, wait_p50, wait_p95, refusals, failures, .. } = self.glimpse;
        if self.snapshot.is_none() {
            write!(f, "{let_in} let in  ")?;
        }
        write!(
            f,
            "waited p50 {:.0} s, p95 {:.0} s  refusals {refusals}",
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

/// The interval at which the bar is drawn.
const REFRESH: Duration = Duration::from_millis(250);

/// The interval at which a line is printed if there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_bar_can_be_built() {
        assert_eq!(bar(7).length(), Some(7));
    }
}
