//! A push stream, as a client reads it.

use reqwest::Response;

use super::answer::{News, told_by_json};

/// An open stream of server-sent events.
#[derive(Debug)]
pub(super) struct PushStream {
    response: Response,
    unread: Vec<u8>,
}

/// An event that a visitor reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pushed {
    /// The visitor waits.
    Position(News),
    /// The visitor's next request is let in.
    Turn,
}

impl PushStream {
    pub(super) const fn new(response: Response) -> Self {
        Self { response, unread: Vec::new() }
    }

    /// Waits for the next event. `None` is the end of the stream.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no event is lost.
    pub(super) async fn next(&mut self) -> Option<Pushed> {
        loop {
            while let Some(event) = take_event(&mut self.unread) {
                if let Some(pushed) = read(&event) {
                    return Some(pushed);
                }
            }
            self.unread.extend(self.response.chunk().await.ok()??);
        }
    }
}

/// Takes the first complete event, which ends with an empty line.
fn take_event(unread: &mut Vec<u8>) -> Option<String> {
    let end = unread.windows(2).position(|pair| pair == b"\n\n")? + 2;
    Some(String::from_utf8_lossy(&unread.drain(..end).collect::<Vec<_>>()).into_owned())
}

/// Reads an event; `None` for a comment.
fn read(event: &str) -> Option<Pushed> {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    match field("event: ")? {
        "position" => Some(Pushed::Position(told_by_json(field("data: ")?))),
        "turn" => Some(Pushed::Turn),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_sim::ShownPosition;

    use super::*;

    #[test]
    fn events_are_cut_at_empty_lines_and_comments_are_skipped() {
        let mut unread =
            b"retry: 1500\nevent: position\ndata: {\"waitingRoom\":{\"position\":4}}\n\n\
                           :\n\nevent: turn\ndata: {}\n\nevent: posi"
                .to_vec();
        let mut events = Vec::new();
        while let Some(event) = take_event(&mut unread) {
            events.push(read(&event));
        }
        let [Some(Pushed::Position(news)), None, Some(Pushed::Turn)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(news.position, ShownPosition::Exact(4));
        assert_eq!(unread, b"event: posi");
    }
}
