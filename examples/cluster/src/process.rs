//! The process that runs a node.

use std::{env, net::SocketAddr, process::Stdio, time::Duration};

use anyhow::{Context, Result, bail};
use shop::RoomArgs;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{balancer::free_address, node::READY};

/// The settings that a node is started with.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) store: String,
    pub(crate) room: RoomArgs,
    pub(crate) key: String,
    pub(crate) deadline: Duration,
    pub(crate) work: Duration,
}

/// A node in a process of its own, which keeps its port when it is restarted. The process ends when
/// this is dropped.
#[derive(Debug)]
pub(crate) struct Node {
    address: SocketAddr,
    recipe: Recipe,
    process: Child,
}

impl Node {
    /// Starts a node on a free port.
    pub(crate) async fn start(recipe: Recipe) -> Result<Self> {
        let address = free_address()?;
        let process = start(&recipe, address).await?;
        Ok(Self { address, recipe, process })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the process at once.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Restarts the node on the same port after it was killed.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.process = start(&self.recipe, self.address).await?;
        Ok(())
    }
}

async fn start(recipe: &Recipe, address: SocketAddr) -> Result<Child> {
    let mut process = Command::new(env::current_exe()?)
        .arg("node")
        .args(["--listen", &address.to_string()])
        .args(["--store", &recipe.store])
        .args(["--deadline", &humantime::format_duration(recipe.deadline).to_string()])
        .args(["--work", &humantime::format_duration(recipe.work).to_string()])
        .args(recipe.room.flags())
        .env("SHOP_KEY", &recipe.key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let said = process.stdout.take().context("a node has no standard output")?;
    let mut said = BufReader::new(said).lines();
    if said.next_line().await?.as_deref() != Some(READY) {
        bail!("a node ended before it was ready: {}", process.wait().await?);
    }
    Ok(process)
}
