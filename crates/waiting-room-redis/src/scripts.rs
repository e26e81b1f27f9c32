//! The scripts, one for each operation of a room.
//!
//! ```text
//!  ROOM  head, clock, pages, networks, keys, site, state, pace, draw, course, line, sessions, lapses,
//!        minute, verdicts, close
//!    +
//!  operation: check_in | configure | enter | heartbeat | leave | renew | snapshot | sweep, and
//!             hear | report, for the room of a site, each with SITE in front
//! ```
//!
//! A script on the server cannot load or call another script. Each script therefore consists of
//! three parts: the names of the rules (`FIELDS`, derived from the settings of a room), the shared
//! part (`lua/room/*.lua`), and the file of its operation. The header of `lua/room/head.lua`
//! describes the arguments and the form of the reply that all scripts have in common.

use redis::{RedisResult, Script, Value, aio::ConnectionLike};

use crate::rules::declare_fields;

/// An operation of a room, which the script of the same name implements.
///
/// The variants are named after the methods of [`Store`](waiting_room_core::Store), except for
/// `Heartbeat`, which reports visitors whose check-ins the node has answered by itself, and for
/// `Hear` and `Report`, which exchange messages with the global ledger of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    CheckIn,
    Configure,
    Enter,
    Hear,
    Heartbeat,
    Leave,
    Renew,
    Report,
    Snapshot,
    Sweep,
}

impl Verb {
    /// All operations, in the order of the variants, so that `verb as usize` is an index into any
    /// array that is derived from `ALL`.
    pub(crate) const ALL: [Self; 10] = [
        Self::CheckIn,
        Self::Configure,
        Self::Enter,
        Self::Hear,
        Self::Heartbeat,
        Self::Leave,
        Self::Renew,
        Self::Report,
        Self::Snapshot,
        Self::Sweep,
    ];

    /// Returns the maximum number of visitors in one script of this operation, which bounds the
    /// time for which a script blocks the server. Newcomers at a full room need the least time.
    pub(crate) const fn max_batch(self) -> usize {
        if matches!(self, Self::Enter) { 128 } else { 64 }
    }
}

/// The scripts of all operations, each with the shared part in front, in the order of
/// [`Verb::ALL`].
#[derive(Debug)]
pub(crate) struct Scripts([Script; Verb::ALL.len()]);

impl Scripts {
    pub(crate) fn new() -> Self {
        let fields = declare_fields();
        Self(SOURCES.map(|verb| Script::new(&[&fields, ROOM, verb].concat())))
    }

    /// Loads all scripts into the server's cache, so that a call sends a hash instead of a source.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer or refuses a script.
    pub(crate) async fn load<C: ConnectionLike>(&self, connection: &mut C) -> RedisResult<()> {
        for script in &self.0 {
            script.load_async(connection).await?;
        }
        Ok(())
    }

    /// Runs a script by its hash. If the server does not know the script, because it was restarted
    /// or its cache was flushed, the script is loaded and run again, which takes two more round
    /// trips.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer or the script fails.
    pub(crate) async fn run<C: ConnectionLike>(
        &self,
        verb: Verb,
        connection: &mut C,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> RedisResult<Value> {
        let mut invocation = self.0[verb as usize].prepare_invoke();
        keys.iter().for_each(|key| {
            invocation.key(key);
        });
        arguments.iter().for_each(|argument| {
            invocation.arg(argument);
        });
        invocation.invoke_async(connection).await
    }
}

/// The source code that all scripts share.
///
/// The order of the files matters. In Lua, a `local` function is visible only to the code below it,
/// so each file can use only the files above it.
const ROOM: &str = concat!(
    include_str!("lua/room/head.lua"),
    include_str!("lua/room/clock.lua"),
    include_str!("lua/room/pages.lua"),
    include_str!("lua/room/networks.lua"),
    include_str!("lua/room/keys.lua"),
    include_str!("lua/room/site.lua"),
    include_str!("lua/room/state.lua"),
    include_str!("lua/room/pace.lua"),
    include_str!("lua/room/draw.lua"),
    include_str!("lua/room/course.lua"),
    include_str!("lua/room/line.lua"),
    include_str!("lua/room/sessions.lua"),
    include_str!("lua/room/lapses.lua"),
    include_str!("lua/room/minute.lua"),
    include_str!("lua/room/verdicts.lua"),
    include_str!("lua/room/close.lua"),
);

/// Returns the source of an operation with many local variables. The operation becomes a separate
/// function, because a function in Lua has at most 200 local variables, including those of the
/// shared part.
macro_rules! in_function {
    ($($file:literal),+) => {
        concat!("return (function()\n", $(include_str!($file),)+ "end)()\n")
    };
}

/// The source files of the operations, in the order of [`Verb::ALL`].
const SOURCES: [&str; Verb::ALL.len()] = [
    in_function!("lua/check_in.lua"),
    in_function!("lua/configure.lua"),
    include_str!("lua/enter.lua"),
    in_function!("lua/site/account.lua", "lua/hear.lua"),
    include_str!("lua/heartbeat.lua"),
    include_str!("lua/leave.lua"),
    include_str!("lua/renew.lua"),
    in_function!("lua/site/account.lua", "lua/site/front.lua", "lua/report.lua"),
    in_function!("lua/snapshot.lua"),
    include_str!("lua/sweep.lua"),
];
