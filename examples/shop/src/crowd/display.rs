//! What is to be seen while the crowd is about.
//!
//! The one place that looks into the room. Nothing of it goes into the report.

use std::{fmt, io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{select, sync::watch, time};
use tower_waiting_room::{handle::RoomHandle, room::RoomSnapshot};

use super::witness::{Glimpse, Witness};

/// What there is to look at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scene {
    /// The room as it is now, if one can look into it; after a restart it is another.
    pub room: Option<RoomHandle>,
    /// What has just happened.
    pub news: String,
}

/// Shows how it goes, until it is dropped: a bar on a terminal, else a line every few seconds.
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
    /// Only the crowd is to be seen, and this news.
    #[must_use]
    pub const fn outside(news: String) -> Self {
        Self { room: None, news }
    }
}

/// Where it is shown. A bar goes when it is dropped.
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

/// The room and the crowd in one line.
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

/// How often a terminal is drawn.
const REFRESH: Duration = Duration::from_millis(250);

/// How often a line is printed where there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_can_be_made() {
        assert_eq!(bar(7).length(), Some(7));
    }
}
