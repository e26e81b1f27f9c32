//! The answer for a terminal.

use bytes::Bytes;
use http::Response;

use super::{Answer, Message, response::of_type};

/// The answer as a paragraph of plain text.
pub(super) fn response(answer: &Answer) -> Response<Bytes> {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    of_type("text/plain; charset=utf-8", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::respond::{Language, sample};

    #[test]
    fn a_terminal_gets_a_line_of_sentences() {
        let text = response(&sample::placed()).into_body();
        assert_eq!(
            text,
            "You are number 12 in line. Estimated wait: about 4 to 7 minutes. \
             Please try again in 9 seconds.\n"
        );
        let chinese = Answer { language: Language::Chinese, ..sample::placed() };
        let text = response(&chinese).into_body();
        assert_eq!(text, "您排在第 12 位。预计等待时间：约 4 至 7 分钟。请在 9 秒后重试。\n");
    }
}
