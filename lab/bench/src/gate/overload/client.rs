//! Clients with persistent connections.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::AbortHandle};

/// Clients of one server, which share their idle connections.
#[derive(Debug)]
pub(in crate::gate) struct Client {
    port: u16,
    idle: Mutex<Vec<Connection>>,
}

/// A connection that is closed when this is dropped, even before the response is complete.
#[derive(Debug)]
struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    task: AbortHandle,
}

impl Client {
    pub(in crate::gate) fn new(port: u16) -> Self {
        Self { port, idle: Mutex::default() }
    }

    /// Sends a request, and waits for the whole response. If the future is dropped, the connection
    /// is closed.
    pub(in crate::gate) async fn ask(&self) -> Result<StatusCode> {
        // The server may have closed an idle connection meanwhile.
        while let Some(mut connection) = self.take_idle() {
            if let Ok(status) = connection.ask().await {
                self.idle().push(connection);
                return Ok(status);
            }
        }
        let mut connection = Connection::open(self.port).await?;
        let status = connection.ask().await?;
        self.idle().push(connection);
        Ok(status)
    }

    /// Opens idle connections.
    pub(in crate::gate) async fn connect(&self, connections: u32) -> Result<()> {
        for _ in 0..connections {
            let connection = Connection::open(self.port).await?;
            self.idle().push(connection);
        }
        Ok(())
    }

    fn take_idle(&self) -> Option<Connection> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, task: tokio::spawn(connection).abort_handle() })
    }

    async fn ask(&mut self) -> Result<StatusCode> {
        let request = Request::get("/").header(header::HOST, "127.0.0.1").body(Empty::new())?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok(status)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn a_client_that_leaves_closes_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(listener.local_addr().unwrap().port());
        let mut asking = Box::pin(client.ask());
        let asked = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            stream.read_buf(&mut asked).await.unwrap();
            (stream, asked)
        };
        let (mut stream, asked) = tokio::select! {
            answer = &mut asking => panic!("there is no server to answer: {answer:?}"),
            asked = asked => asked,
        };
        drop(asking);
        let rest = stream.read_to_end(&mut Vec::new()).await;
        assert_eq!(rest.unwrap(), 0);
        assert!(asked.starts_with(b"GET / HTTP/1.1\r\n"));
    }
}
