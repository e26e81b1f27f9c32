//! A global ledger in a process of its own: the library of the program `waiting-room-ledger`.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use clap::Args;
use cluster::serve_until_end;
use tokio::net::TcpListener;
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId,
    model::{
        Epoch, Failover, Holder, HolderTimes, Kept, KeptAccount, LedgerServer, PostgresKeeper,
        ServerKeys, Standing, Term,
    },
};

/// The name of the room, in the ledgers and at the sites.
pub(crate) const ROOM: &str = "shop";
/// The room of the limit on new visitors, in the ledgers.
pub(crate) const MINUTE_ROOM: &str = "shop-minute";

/// The variable with the key of the sites, and that with the key of the operator.
pub(crate) const SITE_KEY: &str = "SITES_SITE_KEY";
pub(crate) const OPERATOR_KEY: &str = "SITES_OPERATOR_KEY";

/// The settings of a ledger.
#[derive(Args, Clone, Debug)]
pub(crate) struct LedgerArgs {
    /// The address to serve on.
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// The URL of the PostgreSQL server that keeps the room.
    #[arg(long)]
    pub(crate) keeper: String,
}

/// Serves until the process that has started this one ends.
pub(crate) async fn serve(ledger: LedgerArgs) -> Result<()> {
    let LedgerArgs { listen, keeper } = ledger;
    let key = |name| SharedKeys::parse(&std::env::var(name)?).context("the key is invalid");
    let keys = ServerKeys::new(key(SITE_KEY)?).operators(key(OPERATOR_KEY)?);
    let rooms = [ROOM, MINUTE_ROOM].map(|room| {
        let keeper = PostgresKeeper::new(&keeper, Failover::None, room, listen.to_string());
        let (holder, handle) = Holder::new(room, keeper, HolderTimes::default());
        tokio::spawn(holder.run(std::future::pending()));
        (room.to_owned(), handle)
    });
    let server = LedgerServer::new(rooms, keys);
    let listener = TcpListener::bind(listen).await?;
    serve_until_end(async { Ok(server.listen(&listener).await?) }).await
}

/// Sets a room up in a database, with this number of sites.
pub(crate) async fn set_up(
    database: &str,
    room: &str,
    limit: u32,
    rules: EscrowRules,
    sites: u16,
) -> Result<()> {
    let mut kept = Kept::new(Term::new(0), limit, rules);
    let account = KeptAccount::new(Epoch::default(), Standing::Away);
    kept.accounts = (1..=sites).map(|number| (SiteId::new(number), account)).collect();
    let mut keeper = PostgresKeeper::new(database, Failover::None, room, "set-up");
    keeper.create_tables().await?;
    Ok(keeper.set_up(&kept).await?)
}

impl LedgerArgs {
    /// The arguments of this program that start such a ledger.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let listen = self.listen.to_string();
        let own = ["ledger", "--listen", &listen, "--keeper", &self.keeper];
        own.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ledger: LedgerArgs,
    }

    #[test]
    fn a_ledger_obeys_the_arguments_that_it_is_started_with() {
        let keeper = "postgres://ledger@127.0.0.1/rooms".to_owned();
        let ledger = LedgerArgs { listen: ([127, 0, 0, 1], 7400).into(), keeper };
        let read = Line::parse_from(ledger.arguments()).ledger;
        assert_eq!((read.listen, read.keeper), (ledger.listen, ledger.keeper));
    }
}
