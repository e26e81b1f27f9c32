//! Connections through a link, in all weathers.

use std::sync::Mutex;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};

use super::*;

/// The bytes that each direction of all connections has carried.
#[derive(Debug, Default)]
struct Transcript(Arc<[Mutex<Vec<u8>>; 2]>);

impl Tap for Transcript {
    fn listen(&self) -> Listeners {
        let listener = |direction: Direction| -> Listener {
            let heard = Arc::clone(&self.0);
            Box::new(move |bytes| heard[direction as usize].lock().unwrap().extend(bytes))
        };
        Listeners { there: listener(Direction::There), back: listener(Direction::Back) }
    }
}

/// A server that echoes every byte.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    address
}

async fn says(stream: &mut TcpStream, word: &[u8; 4]) -> bool {
    let mut heard = [0; 4];
    stream.write_all(word).await.unwrap();
    let heard_it = timeout(SOON, stream.read_exact(&mut heard)).await;
    matches!(heard_it, Ok(Ok(_))) && heard == *word
}

#[tokio::test]
async fn a_deaf_connection_stays_deaf_and_a_new_one_is_not() {
    let link = Link::to(echo().await, Duration::ZERO).unwrap();
    let mut old = TcpStream::connect(link.address()).await.unwrap();
    assert!(says(&mut old, b"ding").await);
    link.set(Weather::Deaf);
    assert!(!says(&mut old, b"dong").await);
    link.set(Weather::Clear);
    assert!(!says(&mut old, b"bell").await);
    let mut new = TcpStream::connect(link.address()).await.unwrap();
    assert!(says(&mut new, b"ding").await);
}

#[tokio::test]
async fn one_direction_is_lost_while_the_other_one_works() {
    let link = Link::to(echo().await, Duration::ZERO).unwrap();
    for direction in [Direction::There, Direction::Back] {
        let before = link.carried();
        link.set(Weather::DeafOneWay(direction));
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        assert!(!says(&mut stream, b"ding").await);
        let after = link.carried();
        let arrived = after.there - before.there;
        assert_eq!(arrived, u64::from(direction == Direction::Back), "{direction:?}");
        assert_eq!(after.back, before.back, "{direction:?}");
        link.set(Weather::Clear);
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        assert!(says(&mut stream, b"dong").await);
    }
}

#[tokio::test]
async fn jitter_delays_every_piece_and_keeps_the_order() {
    let link = Link::to(echo().await, Duration::ZERO).unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    let least = Duration::from_millis(5);
    let most = Duration::from_millis(30);
    link.set(Weather::Jitter(least, most));
    let asked = Instant::now();
    for word in [b"ding", b"dong", b"bell"] {
        stream.write_all(word).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut heard = [0; 12];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"dingdongbell");
    assert!(asked.elapsed() >= 2 * least);
}

#[tokio::test]
async fn held_back_bytes_come_later_and_slow_bytes_come_late() {
    let link = Link::to(echo().await, Duration::ZERO).unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    link.set(Weather::Still);
    assert!(!says(&mut stream, b"ding").await);
    link.set(Weather::Clear);
    let mut heard = [0; 4];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"ding");
    let late = Duration::from_millis(20);
    link.set(Weather::Slow(late));
    let asked = Instant::now();
    assert!(says(&mut stream, b"dong").await && asked.elapsed() >= 2 * late);
}

#[tokio::test]
async fn a_link_takes_its_time_and_carries_meanwhile() {
    let link = Link::to(echo().await, SOON / 2).unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    let asked = Instant::now();
    for word in [b"ding", b"dong", b"bell"] {
        stream.write_all(word).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut heard = [0; 12];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"dingdongbell");
    assert!(asked.elapsed() >= SOON / 2);
}

#[tokio::test]
async fn a_cut_or_another_target_closes_open_connections() {
    let link = Link::to(echo().await, Duration::ZERO).unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    assert!(says(&mut stream, b"ding").await);
    link.set(Weather::Cut);
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    link.set(Weather::Clear);
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    assert!(says(&mut stream, b"ding").await);
    link.lead_to(echo().await);
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
}

const SOON: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_tap_sees_both_ends_under_all_faults_and_after_the_client_has_gone() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let tap = Arc::new(Transcript::default());
    let heard = Arc::clone(&tap.0);
    let link = Link::tapped(server.local_addr().unwrap(), Duration::ZERO, tap).unwrap();
    let mut client = TcpStream::connect(link.address()).await.unwrap();
    let (mut server, _) = server.accept().await.unwrap();
    client.write_all(b"ding").await.unwrap();
    assert_eq!(server.read(&mut [0; 4]).await.unwrap(), 4);
    link.set(Weather::DeafOneWay(Direction::Back));
    server.write_all(b"dong").await.unwrap();
    drop(client);
    // The server notices it, and speaks on.
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    server.write_all(b"bell").await.unwrap();
    let is_heard = || *heard[1].lock().unwrap() == b"dongbell";
    timeout(SOON * 10, async {
        while !is_heard() {
            tokio::task::yield_now().await
        }
    })
    .await
    .unwrap();
    assert_eq!(*heard[0].lock().unwrap(), b"ding");
}
