//! A server that can be stopped together with all its connections, like a process.

use std::{
    future::Future,
    net::{Ipv4Addr, TcpListener as StdListener},
    time::Duration,
};

use tokio::{net::TcpListener, runtime::Runtime, task};

/// A server on a loopback port, with a runtime of its own.
///
/// Dropping it stops the server and cuts all its connections.
#[derive(Debug)]
pub struct Process {
    port: u16,
    runtime: Option<Runtime>,
}

impl Process {
    /// Serves on a free port.
    pub fn start<F>(serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_at(0, serve)
    }

    /// Serves on the given port.
    pub fn start_at<F>(port: u16, serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let _entered = runtime.enter();
        runtime.spawn(serve(TcpListener::from_std(listener).unwrap()));
        Self { port, runtime: Some(runtime) }
    }

    /// The port of the server.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server, and returns when the port is free.
    pub async fn stop(mut self) {
        if let Some(runtime) = self.runtime.take() {
            let stopping = move || runtime.shutdown_timeout(Duration::from_secs(5));
            task::spawn_blocking(stopping).await.unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
