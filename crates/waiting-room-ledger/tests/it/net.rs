//! A network in this process: addresses with servers, and connections that can be cut.

use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex},
    task::JoinSet,
};
use waiting_room_ledger::{Dial, model::LedgerServer};

/// The directions of a site's connections that lose everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) from_ledger: bool,
    pub(crate) to_ledger: bool,
}

/// The servers of a network. Clones are the same network.
#[derive(Clone, Default)]
pub(crate) struct Net {
    servers: Arc<Mutex<BTreeMap<String, Server>>>,
}

struct Server {
    server: Arc<LedgerServer>,
    connections: JoinSet<()>,
}

impl Net {
    /// Lets a server accept connections at an address.
    pub(crate) fn listen(&self, address: &str, server: Arc<LedgerServer>) {
        let server = Server { server, connections: JoinSet::new() };
        self.servers.lock().unwrap().insert(address.to_owned(), server);
    }

    /// Ends the server at an address with all of its connections, as if its process were killed.
    pub(crate) fn kill(&self, address: &str) {
        self.servers.lock().unwrap().remove(address);
    }

    /// Connects as one client, whose connections can be cut.
    pub(crate) fn client(&self) -> NetDial {
        NetDial { net: self.clone(), cut: Arc::default() }
    }
}

/// The connections of one client.
#[derive(Clone)]
pub(crate) struct NetDial {
    net: Net,
    cut: Arc<Mutex<Cut>>,
}

impl NetDial {
    /// Cuts directions, or heals them. A connection that has lost something stays broken.
    pub(crate) fn cut(&self, cut: Cut) {
        *self.cut.lock().unwrap() = cut;
    }
}

impl Dial for NetDial {
    type Io = NetIo;

    async fn dial(&self, address: &str) -> io::Result<NetIo> {
        if *self.cut.lock().unwrap() != Cut::default() {
            // The first packet or its answer is lost.
            return std::future::pending().await;
        }
        let mut servers = self.net.servers.lock().unwrap();
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let Server { server, connections } = servers.get_mut(address).ok_or_else(refused)?;
        let (ours, theirs) = duplex(64 * 1024);
        connections.spawn(Arc::clone(server).serve(theirs, "test:1".to_owned()));
        Ok(NetIo { inner: ours, cut: Arc::clone(&self.cut), lost: Cut::default() })
    }
}

/// A connection that may be cut.
pub(crate) struct NetIo {
    inner: DuplexStream,
    cut: Arc<Mutex<Cut>>,
    /// The directions in which something was lost already.
    lost: Cut,
}

impl NetIo {
    fn look(&mut self) -> Cut {
        let cut = *self.cut.lock().unwrap();
        self.lost.from_ledger |= cut.from_ledger;
        self.lost.to_ledger |= cut.to_ledger;
        self.lost
    }
}

impl AsyncRead for NetIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.look().from_ledger {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for NetIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.look().to_ledger {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
