//! A wall clock of single processes that can be set forward or back.
//!
//! Setting the clock of the machine would move it for all processes, so a library takes the place of
//! the C library's functions in the processes that are started with it. `TIME` of Redis and Valkey
//! shows that clock, and so does `SystemTime` of Rust. Clocks that cannot be set run on: the
//! monotonic one, and the time since boot.
//!
//! The library is compiled when it is needed, by the C compiler that linking a Rust program takes
//! anyway. `libfaketime` does the same, but does not work together with the allocator of the engines.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// The wall clock of the processes that are started with its [`environment`](Self::environment).
#[derive(Debug)]
pub struct ShiftedClock {
    /// The seconds by which the clock is ahead. The processes have a page of the file in memory.
    shift: File,
    directory: TempDir,
}

impl ShiftedClock {
    /// A clock that shows the right time.
    ///
    /// # Errors
    ///
    /// There is no C compiler, or the system is not Linux.
    pub fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let source = directory.path().join("shifted.c");
        fs::write(&source, SOURCE)?;
        let compiled = Command::new(COMPILER)
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .arg(directory.path().join(LIBRARY))
            .arg(&source)
            .output()
            .with_context(|| format!("{COMPILER} does not start; apt-get install gcc"))?;
        let said = String::from_utf8_lossy(&compiled.stderr);
        ensure!(compiled.status.success(), "{COMPILER} has failed:\n{said}");
        let shift = File::create_new(directory.path().join(SHIFT))?;
        let clock = Self { shift, directory };
        clock.set(0)?;
        Ok(clock)
    }

    /// The variables with which a process is started that is to have this clock.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("LD_PRELOAD", self.path(LIBRARY)), ("SHIFTED_CLOCK", self.path(SHIFT))]
    }

    /// Sets the clock to this many seconds ahead of the right time, or behind it, for all processes
    /// at once.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn set(&self, ahead_s: i64) -> Result<()> {
        Ok(self.shift.write_all_at(&ahead_s.to_ne_bytes(), 0)?)
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.directory.path().join(name);
        path.to_string_lossy().into_owned()
    }
}

const SOURCE: &str = include_str!("clock/shifted.c");
const COMPILER: &str = "cc";
const LIBRARY: &str = "shifted.so";
const SHIFT: &str = "shift";

#[cfg(test)]
mod tests {
    use tower_waiting_room::time::{Clock, SystemClock};
    use waiting_room_engines::{Engine, EngineServer, Persistence};

    use super::*;
    use crate::connect;

    #[tokio::test]
    async fn a_server_shows_the_time_that_its_clock_was_set_to() {
        let right = || SystemClock::new().now().as_secs();
        let clock = ShiftedClock::new().unwrap();
        let environment = clock.environment();
        let environment: Vec<_> =
            environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        for engine in Engine::ALL {
            clock.set(0).unwrap();
            let options = Persistence::Never.options();
            let server = EngineServer::start_in(engine, options, &environment).unwrap();
            let mut connection = connect(&server).await.unwrap();
            for ahead in [0, 3_600, -3_600] {
                clock.set(ahead).unwrap();
                let least = right().strict_add_signed(ahead);
                let most = |now: u64| now.strict_add_signed(ahead);
                let (shown, _): (u64, u64) =
                    redis::cmd("TIME").query_async(&mut connection).await.unwrap();
                assert!(least <= shown && shown <= most(right()), "{engine}: {ahead} s");
            }
        }
    }
}
