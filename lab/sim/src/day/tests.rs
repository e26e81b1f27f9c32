//! Tests of files that are days, and of files that are not.

use super::*;

fn day(text: &str) -> Day {
    Day::read(text.as_bytes()).unwrap()
}

fn wrong(text: impl AsRef<[u8]>) -> String {
    Day::read(text.as_ref()).unwrap_err().to_string()
}

fn of(counts: impl IntoIterator<Item = u32>) -> Day {
    let rows = counts.into_iter().enumerate();
    day(&rows.map(|(minute, count)| format!("{minute},{count}\n")).collect::<String>())
}

const SHIPPED: &str = include_str!("../../../../examples/shop/data/worldcup98-1998-06-30.csv");

#[test]
fn a_file_is_read_in_every_notation() {
    let expected = day("minute,requests\n1998-06-30T14:00,1\n1998-06-30T14:01,2\n");
    assert_eq!((expected.counts.as_slice(), expected.missing), ([1, 2].as_slice(), 0));
    for same in [
        "minute,requests\r\n1998-06-30T14:00,1\r\n1998-06-30T14:01,2",
        "\u{feff}Minute, Requests\n1998-06-30 14:00:00, 1\n\n1998-06-30 14:01:00 ,2\n",
        "1998-06-30T14:00Z,1\n1998-06-30T14:01Z,2\n",
        "requests,bytes,minute\n1,77,1998-06-30T14:00\n2,88,1998-06-30T14:01\n",
        "# a remark\n\"minute\",\"requests\"\n1998-06-30T14:01,2\n1998-06-30T14:00,1\n",
    ] {
        assert_eq!(day(same), expected, "{same:?}");
    }
}

#[test]
fn minutes_can_be_times_of_a_day_or_numbers() {
    let clock = day("minute,requests\n09:58,1\n09:59,2\n10:00,3\n");
    assert_eq!((clock.label(0), clock.label(2)), ("09:58".to_owned(), "10:00".to_owned()));
    assert_eq!(clock.find("10:00"), Some(2));
    let number = day("7,1\n8,2\n");
    assert_eq!(
        (number.label(1), number.find("8"), number.find("9")),
        ("8".to_owned(), Some(1), None)
    );
}

#[test]
fn a_missing_minute_counts_as_nothing() {
    let gap = day("minute,requests\n10:00,5\n10:03,6\n");
    assert_eq!((gap.counts.as_slice(), gap.missing), ([5, 0, 0, 6].as_slice(), 2));
}

#[test]
fn each_error_names_its_line() {
    let cases = [
        ("", "there are no minutes in it"),
        ("minute,requests\n", "there are no minutes in it"),
        ("time;count\n1;2\n", "line 1: the header is \"time;count\", expected \"minute,requests\""),
        (
            "minute,visits\n10:00,1\n",
            "line 1: the header is \"minute,visits\", expected \"minute,requests\"",
        ),
        ("10:00,1\n10:01\n", "line 2: there is no count of requests, expected \"minute,requests\""),
        (
            "10:00,1\n10:01,-1\n",
            "line 2: requests is \"-1\", expected a number from 0 to 4294967295",
        ),
        ("10:00,1\n10:01,\n", "line 2: requests is \"\", expected a number from 0 to 4294967295"),
        (
            "minute,requests\n10:00,1\n25:00,1\n",
            "line 3: minute is \"25:00\", expected a whole minute such as 1998-06-30T14:05",
        ),
        (
            "1998-06-30T14:00:30,1\n",
            "line 1: the header is \"1998-06-30T14:00:30,1\", expected \"minute,requests\"",
        ),
        ("10:00,1\n7,1\n", "line 2: minute is \"7\", expected the form of the lines before"),
        ("10:00,1\n10:01,1\n10:00,2\n", "line 3: minute is \"10:00\", which line 1 has already"),
        (
            "0,1\n1,1\n100000,1\n",
            "line 3: it goes from 0 to 100000, expected at most 100000 minutes",
        ),
        (
            "0,1\n-9223372036854775808,1\n",
            "line 1: it goes from -9223372036854775808 to 0, expected at most 100000 minutes",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(wrong(text), message, "{text:?}");
    }
    assert_eq!(wrong(b"minute,requests\n10:00,\xff\n"), "line 2: it is not UTF-8");
    let endless = "10:00,1\n".repeat(3_000_000);
    assert!(wrong(endless).starts_with("line 2: minute is \"10:00\""));
    assert!(wrong("#".repeat(20_000_000)).contains("it has more than 16777216 bytes"));
}

#[test]
fn every_day_with_a_request_has_a_steepest_hour() {
    let steepest = |counts: &[u32]| of(counts.iter().copied()).steepest(60);
    assert_eq!(steepest(&[7; 300]).unwrap(), 240..300);
    assert_eq!(steepest(&[3, 9]).unwrap(), 0..2);
    assert_eq!(steepest(&[5]).unwrap(), 0..1);
    let mut fall = [0; 300];
    fall[..5].copy_from_slice(&[50, 40, 30, 20, 10]);
    assert_eq!(steepest(&fall).unwrap(), 0..60);
    let mut spike = [1; 300];
    spike[200..240].copy_from_slice(&[[900].as_slice(), &[300; 39]].concat());
    let hour = steepest(&spike).unwrap();
    assert!(hour.start < 200 && hour.end >= 240, "{hour:?}: a rush is not cut off");
    let mut lone = [0; 300];
    lone[200] = 1;
    assert_eq!(steepest(&lone).unwrap(), 199..259);
    assert_eq!(steepest(&[0; 300]).unwrap_err().to_string(), "there are no requests in it");
}

#[test]
fn a_stretch_can_be_chosen_by_minute_or_by_time_of_day() {
    let shipped = day(SHIPPED);
    assert_eq!((shipped.counts.len(), shipped.missing), (1_440, 0));
    for from in ["14:30", "1998-06-30T14:30", "1998-06-30 14:30:00"] {
        assert_eq!(shipped.from(from, 45).unwrap(), 870..915);
    }
    assert_eq!(shipped.from("23:50", 60).unwrap(), 1_430..1_440);
    assert_eq!(
        shipped.from("1998-07-01T00:00", 60).unwrap_err().to_string(),
        "--from is \"1998-07-01T00:00\", expected a minute from 1998-06-30T00:00 to \
         1998-06-30T23:59"
    );
    let quiet = of([0, 0, 0, 1]);
    assert_eq!(quiet.from("0", 2).unwrap_err().to_string(), "there are no requests from 0 to 1");
}
