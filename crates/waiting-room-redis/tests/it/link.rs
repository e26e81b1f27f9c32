//! The way to a server.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// A way on which everything can vanish, with the connections left open at both ends.
pub(crate) struct Link {
    pub(crate) port: u16,
    vanished: Arc<AtomicU32>,
}

impl Link {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let vanished = Arc::<AtomicU32>::default();
        let age = Arc::clone(&vanished);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (age, born) = (Arc::clone(&age), age.load(Ordering::Relaxed));
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(carry(from_client, to_server, Arc::clone(&age), born));
                tokio::spawn(carry(from_server, to_client, age, born));
            }
        });
        Self { port, vanished }
    }

    /// From now on nothing comes through on the connections that there are.
    pub(crate) fn vanish(&self) {
        self.vanished.fetch_add(1, Ordering::Relaxed);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, age: Arc<AtomicU32>, born: u32) {
    let mut bytes = vec![0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if age.load(Ordering::Relaxed) == born && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
