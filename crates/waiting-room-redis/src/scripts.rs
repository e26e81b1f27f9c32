//! The scripts, one for each verb.

use redis::{RedisResult, Script, Value, aio::ConnectionLike};

/// A verb, and the script of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    CheckIn,
    Configure,
    Enter,
    Heartbeat,
    Leave,
    Renew,
    Snapshot,
    Sweep,
}

impl Verb {
    /// In the order of their scripts.
    pub(crate) const ALL: [Self; 8] = [
        Self::CheckIn,
        Self::Configure,
        Self::Enter,
        Self::Heartbeat,
        Self::Leave,
        Self::Renew,
        Self::Snapshot,
        Self::Sweep,
    ];
}

/// All scripts, each with what they share before it.
#[derive(Debug)]
pub(crate) struct Scripts([Script; Verb::ALL.len()]);

impl Scripts {
    pub(crate) fn new() -> Self {
        Self(SOURCES.map(|verb| Script::new(&[ROOM, verb].concat())))
    }

    /// Has the server know all scripts, so that no call has to bring its own.
    pub(crate) async fn load<C: ConnectionLike>(&self, connection: &mut C) -> RedisResult<()> {
        for script in &self.0 {
            script.load_async(connection).await?;
        }
        Ok(())
    }

    /// Runs a script by its hash; by its source if the server does not know it, because it was
    /// started anew.
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

/// Stands before each verb, so each part may use those before it.
const ROOM: &str = concat!(
    include_str!("lua/room/head.lua"),
    include_str!("lua/room/clock.lua"),
    include_str!("lua/room/keys.lua"),
    include_str!("lua/room/state.lua"),
    include_str!("lua/room/sessions.lua"),
    include_str!("lua/room/line.lua"),
    include_str!("lua/room/minute.lua"),
    include_str!("lua/room/pace.lua"),
    include_str!("lua/room/verdicts.lua"),
    include_str!("lua/room/close.lua"),
);

/// In the order of [`Verb::ALL`].
const SOURCES: [&str; Verb::ALL.len()] = [
    include_str!("lua/check_in.lua"),
    include_str!("lua/configure.lua"),
    include_str!("lua/enter.lua"),
    include_str!("lua/heartbeat.lua"),
    include_str!("lua/leave.lua"),
    include_str!("lua/renew.lua"),
    include_str!("lua/snapshot.lua"),
    include_str!("lua/sweep.lua"),
];
