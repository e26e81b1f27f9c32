//! The process with the service, the proxy in front of it, and the handle on both.

use std::thread;

use anyhow::Result;
use clap::ValueEnum;
use tokio::net::TcpListener;

use super::{contender::Contender, haproxy::Haproxy, work::Work};
use crate::{
    child::{Process, end_with_starter, say},
    requests::runtime,
    usage::pin_to,
};

/// A service behind a gate, which is stopped when this is dropped.
#[derive(Debug)]
pub(in crate::gate) struct Server {
    process: Process,
    /// It shares the core of the service.
    proxy: Option<Haproxy>,
    port: u16,
}

impl Server {
    pub(in crate::gate) fn start(contender: Contender, work: Work) -> Result<Self> {
        let arguments = ["serve-gated", &argument(contender), &argument(work)];
        let (process, port) = Process::of_this_program(&arguments)?;
        let proxy = contender.haproxy_queue().map(|queue| {
            let start = || {
                pin_to(0)?;
                Haproxy::start(port, work.at_once(), queue)
            };
            thread::scope(|scope| scope.spawn(start).join().expect("a failure is an error"))
        });
        Ok(Self { process, proxy: proxy.transpose()?, port })
    }

    /// The port for requests: that of the proxy, if there is one.
    pub(in crate::gate) fn port(&self) -> u16 {
        self.proxy.as_ref().map_or(self.port, |proxy| proxy.port)
    }

    /// The process with the service.
    pub(in crate::gate) fn id(&self) -> u32 {
        self.process.id()
    }
}

fn argument(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("none is skipped");
    value.get_name().to_owned()
}

/// Serves until standard input ends.
pub(crate) fn serve(contender: Contender, work: Work) -> Result<()> {
    pin_to(0)?;
    end_with_starter();
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        say(&listener.local_addr()?.port())?;
        // Created once and not for each connection: some gates would otherwise limit each
        // connection separately.
        let app = contender.app(work).into_make_service();
        Ok(axum::serve(listener, app).await?)
    })
}
