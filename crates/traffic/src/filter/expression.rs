//! Filter expressions: a small part of the language of `tcpdump`, with its words.
//!
//! ```text
//! expression = term { "or" term }
//! term       = factor { "and" factor }
//! factor     = "not" factor | "(" expression ")" | primitive
//! primitive  = [ "src" | "dst" ] ( "net" PREFIX | "host" ADDRESS | "port" NUMBER [ "-" NUMBER ] )
//!            | ( "tcp" | "udp" | "sctp" ) [ [ "src" | "dst" ] "port" NUMBER [ "-" NUMBER ] ]
//!            | "icmp" | "icmp6" | "gre" | "esp" | "proto" NUMBER
//!            | "ip" | "ip6" | "vlan" [ NUMBER ]
//! ```

use super::headers::{Field, Fields};
use super::prefix::Prefix;
use crate::error::IngestError;
use std::net::IpAddr;

/// A filter on packets and flows.
#[derive(Clone, Debug)]
pub struct Filter {
    root: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Net(Side, Prefix),
    Port(Side, u16, u16),
    Protocol(u8),
    Version(u8),
    Vlan(Option<u16>),
}

/// Nested parentheses and negations at most.
const DEPTH: usize = 50;

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// If it is not one; the message points at the word.
    pub fn parse(text: &str) -> Result<Self, IngestError> {
        let mut parser = Parser { text, words: words(text), next: 0 };
        let root = parser.expression(0)?;
        if parser.next < parser.words.len() {
            return Err(parser.wrong("expected \"and\", \"or\" or the end"));
        }
        Ok(Self { root })
    }

    /// Whether a packet matches; `None` if what is known of it does not tell.
    pub(crate) fn matches(&self, fields: &Fields) -> Option<bool> {
        self.root.matches(fields)
    }
}

/// Looks at a field on one side or on either.
fn side<T: Copy>(side: Side, source: Field<T>, destination: Field<T>, is: impl Fn(T) -> bool) -> Option<bool> {
    let one = |field| match field {
        Field::Is(value) => Some(is(value)),
        Field::Absent => Some(false),
        Field::Cut => None,
    };
    match side {
        Side::Source => one(source),
        Side::Destination => one(destination),
        Side::Either => any([one(source), one(destination)].into_iter()),
    }
}

fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut sum = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => sum = None,
        }
    }
    sum
}

impl Node {
    fn matches(&self, fields: &Fields) -> Option<bool> {
        match self {
            Self::Any(nodes) => any(nodes.iter().map(|node| node.matches(fields))),
            Self::All(nodes) => any(nodes.iter().map(|node| node.matches(fields).map(|yes| !yes))).map(|no| !no),
            Self::Not(node) => node.matches(fields).map(|yes| !yes),
            Self::Net(which, prefix) => {
                side(*which, fields.source, fields.destination, |address: IpAddr| prefix.contains(address))
            }
            Self::Port(which, from, to) => {
                side(*which, fields.source_port, fields.destination_port, |port: u16| (*from..=*to).contains(&port))
            }
            Self::Protocol(number) => {
                side(Side::Source, fields.protocol, Field::Absent, |protocol| protocol == *number)
            }
            Self::Version(number) => side(Side::Source, fields.version, Field::Absent, |version| version == *number),
            Self::Vlan(number) => fields.vlans.has(*number),
        }
    }
}

/// Words and parentheses, each with its place.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices() {
        if letter.is_whitespace() || letter == '(' || letter == ')' {
            if let Some(start) = start.take() {
                words.push((start, &text[start..at]));
            }
            if !letter.is_whitespace() {
                words.push((at, &text[at..=at]));
            }
        } else {
            start = start.or(Some(at));
        }
    }
    words.extend(start.map(|start| (start, &text[start..])));
    words
}

struct Parser<'t> {
    text: &'t str,
    words: Vec<(usize, &'t str)>,
    next: usize,
}

impl<'t> Parser<'t> {
    fn word(&self) -> Option<&'t str> {
        self.words.get(self.next).map(|(_, word)| *word)
    }

    fn take(&mut self) -> Option<&'t str> {
        let word = self.word()?;
        self.next += 1;
        Some(word)
    }

    fn take_if(&mut self, wanted: &str) -> bool {
        let found = self.word() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    /// An error at the next word.
    fn wrong(&self, what: &str) -> IngestError {
        let place = match self.words.get(self.next) {
            Some((at, word)) => format!("at {word:?} (column {})", self.text[..*at].chars().count() + 1),
            None => "at the end".to_owned(),
        };
        IngestError::request(
            format!("filter {:?}: {place}: {what}", self.text),
            "for example \"net 10.0.0.0/8 and not (tcp port 443 or udp)\"",
        )
    }

    /// The same at the word before.
    fn wrong_before(&mut self, what: &str) -> IngestError {
        self.next = self.next.saturating_sub(1);
        self.wrong(what)
    }

    fn expression(&mut self, depth: usize) -> Result<Node, IngestError> {
        let mut nodes = vec![self.term(depth)?];
        while self.take_if("or") {
            nodes.push(self.term(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
    }

    fn term(&mut self, depth: usize) -> Result<Node, IngestError> {
        let mut nodes = vec![self.factor(depth)?];
        while self.take_if("and") {
            nodes.push(self.factor(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
    }

    fn factor(&mut self, depth: usize) -> Result<Node, IngestError> {
        if depth > DEPTH {
            return Err(self.wrong("nested too deeply"));
        }
        if self.take_if("not") {
            return Ok(Node::Not(Box::new(self.factor(depth + 1)?)));
        }
        if self.take_if("(") {
            let node = self.expression(depth + 1)?;
            return if self.take_if(")") { Ok(node) } else { Err(self.wrong("expected \")\"")) };
        }
        self.primitive()
    }

    fn primitive(&mut self) -> Result<Node, IngestError> {
        let Some(word) = self.take() else { return Err(self.wrong("expected a condition")) };
        let node = match word {
            "src" => self.sided(Side::Source)?,
            "dst" => self.sided(Side::Destination)?,
            "net" | "host" | "port" => {
                self.next -= 1;
                self.sided(Side::Either)?
            }
            "tcp" => self.with_port(6)?,
            "udp" => self.with_port(17)?,
            "sctp" => self.with_port(132)?,
            "icmp" => Node::Protocol(1),
            "icmp6" => Node::Protocol(58),
            "gre" => Node::Protocol(47),
            "esp" => Node::Protocol(50),
            "proto" => Node::Protocol(self.number("a protocol number, 0 to 255", u8::MAX.into())? as u8),
            "ip" => Node::Version(4),
            "ip6" => Node::Version(6),
            "vlan" => {
                let numbered = self.word().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
                Node::Vlan(if numbered { Some(self.number("a VLAN, 0 to 4095", 4095)?) } else { None })
            }
            _ => {
                return Err(self.wrong_before(
                    "expected src, dst, net, host, port, tcp, udp, sctp, icmp, icmp6, gre, esp, proto, ip, ip6, vlan, not or \"(\"",
                ));
            }
        };
        Ok(node)
    }

    /// After `tcp`: perhaps a port.
    fn with_port(&mut self, protocol: u8) -> Result<Node, IngestError> {
        let sided = matches!(self.word(), Some("src" | "dst"));
        let port = if sided { self.words.get(self.next + 1).map(|(_, word)| *word) } else { self.word() };
        if port != Some("port") {
            return Ok(Node::Protocol(protocol));
        }
        let port = self.primitive()?;
        Ok(Node::All(vec![Node::Protocol(protocol), port]))
    }

    fn sided(&mut self, side: Side) -> Result<Node, IngestError> {
        match self.take() {
            Some("net") => {
                let text = self.take().ok_or_else(|| self.wrong("expected a prefix"))?;
                Ok(Node::Net(side, Prefix::parse(text)?))
            }
            Some("host") => {
                let text = self.take().ok_or_else(|| self.wrong("expected an address"))?;
                if text.contains('/') {
                    return Err(self.wrong_before("expected one address; prefixes follow \"net\""));
                }
                Ok(Node::Net(side, Prefix::parse(text)?))
            }
            Some("port") => {
                let text = self.take().ok_or_else(|| self.wrong("expected a port"))?;
                let (from, to) = text.split_once('-').unwrap_or((text, text));
                match (from.parse::<u16>(), to.parse::<u16>()) {
                    (Ok(from), Ok(to)) if from <= to => Ok(Node::Port(side, from, to)),
                    _ => Err(self.wrong_before("expected a port or a range, such as 443 or 8000-8999")),
                }
            }
            Some(_) => Err(self.wrong_before("expected net, host or port")),
            None => Err(self.wrong("expected net, host or port")),
        }
    }

    fn number(&mut self, what: &str, most: u16) -> Result<u16, IngestError> {
        match self.take().map(str::parse::<u16>) {
            Some(Ok(number)) if number <= most => Ok(number),
            Some(_) => Err(self.wrong_before(&format!("expected {what}"))),
            None => Err(self.wrong(&format!("expected {what}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Fields {
        Fields {
            version: Field::Is(4),
            source: Field::Is("10.0.0.1".parse().expect("good")),
            destination: Field::Is("192.0.2.7".parse().expect("good")),
            protocol: Field::Is(6),
            source_port: Field::Is(443),
            destination_port: Field::Is(50_000),
            ..Fields::NONE
        }
    }

    fn answer(text: &str, fields: &Fields) -> Option<bool> {
        Filter::parse(text).expect("good").matches(fields)
    }

    #[test]
    fn expressions_mean_what_they_say() {
        for (text, expected) in [
            ("tcp", true),
            ("udp", false),
            ("proto 6", true),
            ("ip and not ip6", true),
            ("net 10.0.0.0/8", true),
            ("dst net 10.0.0.0/8", false),
            ("src host 10.0.0.1 and dst host 192.0.2.7", true),
            ("host 10.0.0.2", false),
            ("port 443", true),
            ("dst port 443", false),
            ("tcp src port 400-500", true),
            ("udp port 443", false),
            ("udp or tcp and port 80", false),
            ("(udp or tcp) and not (port 80 or port 81)", true),
            ("not not tcp", true),
            ("vlan", false),
            ("tcp and src net 10.0.0.0/8", true),
        ] {
            assert_eq!(answer(text, &packet()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_was_cut_is_undecided_only_where_it_matters() {
        let cut = Fields { source_port: Field::Cut, destination_port: Field::Cut, ..packet() };
        assert_eq!(answer("port 443", &cut), None);
        assert_eq!(answer("not port 443", &cut), None);
        assert_eq!(answer("udp and port 443", &cut), Some(false));
        assert_eq!(answer("tcp or port 443", &cut), Some(true));
        let half = Fields { destination_port: Field::Cut, ..packet() };
        assert_eq!(answer("port 443", &half), Some(true));
        assert_eq!(answer("port 80", &half), None);
        assert_eq!(answer("port 443", &Fields::NONE), Some(false));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, part) in [
            ("", "at the end: expected a condition"),
            ("tcp udp", "at \"udp\" (column 5): expected \"and\""),
            ("(tcp", "at the end: expected \")\""),
            ("port http", "at \"http\" (column 6): expected a port"),
            ("port 9-8", "expected a port or a range"),
            ("port 70000", "expected a port"),
            ("net 10.0.0.1/8", "bits behind the prefix"),
            ("host 10.0.0.0/8", "expected one address"),
            ("src tcp", "expected net, host or port"),
            ("proto 256", "0 to 255"),
            ("vlan 5000", "0 to 4095"),
            ("tcp) or (udp", "at \")\" (column 4)"),
        ] {
            let error = Filter::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains("\nhint: "), "{error}");
        }
        let deep = "(".repeat(100_000);
        assert!(Filter::parse(&deep).expect_err("deep").to_string().contains("nested too deeply"));
    }
}
