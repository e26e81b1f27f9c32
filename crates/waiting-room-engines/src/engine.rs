//! Which servers there are.

use std::{fmt, process::Command};

/// A server that speaks the protocol of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all that there are tests for")]
pub enum Engine {
    /// <https://redis.io>.
    Redis,
    /// <https://valkey.io>.
    Valkey,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// The name of the program, which is that of Debian's package too.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// Whether the program is there.
    #[must_use]
    pub fn is_installed(self) -> bool {
        Command::new(self.program()).arg("--version").output().is_ok()
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
        })
    }
}
