//! Queueing disciplines of the kernel, one inside the other, in the words of tc(8).

/// Disciplines of one interface, the outermost first: `htb rate 100mbit`, then `red limit 37850 ...`, then `netem delay 150us`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain(Vec<Vec<String>>);

impl Chain {
    /// Checks what can be without the kernel: that each is a kind with its words, quoted as in a shell, on one line.
    pub(crate) fn new(written: &[String]) -> Result<Self, String> {
        let each = written.iter().map(|text| {
            let words = shell_words::split(text).map_err(|error| format!("{text:?}: {error}"))?;
            let kind = words.first().ok_or("expected a discipline in the words of tc: \"bfifo limit 30000\"")?;
            if !kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
                return Err(format!(
                    "{kind:?} is no kind of discipline; expected, for instance, \"htb\", \"red\" or \"netem\""
                ));
            }
            if let Some(word) = words.iter().find(|word| word.is_empty() || word.contains(char::is_whitespace)) {
                return Err(format!("{word:?} in {text:?} is no word of tc"));
            }
            Ok(words)
        });
        each.collect::<Result<_, _>>().map(Self)
    }

    /// The commands of `tc -batch` that put them on a device.
    pub(crate) fn batch(&self, device: &str) -> String {
        let mut batch = Vec::new();
        let mut parent = "root".to_owned();
        for (index, words) in self.0.iter().enumerate() {
            let handle = index + 1;
            let (kind, rest) = (words[0].as_str(), words[1..].join(" "));
            let add = format!("qdisc add dev {device} {parent} handle {handle}:");
            if kind == "htb" {
                // It limits classes: one for everything, as Mininet's links have (`mininet/link.py`).
                batch.push(format!("{add} htb default 1"));
                batch.push(format!("class add dev {device} parent {handle}: classid {handle}:1 htb {rest}"));
            } else {
                batch.push(format!("{add} {kind} {rest}"));
            }
            parent = format!("parent {handle}:1");
        }
        batch.join("\n") + "\n"
    }

    /// The kinds, the outermost first.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|words| words[0].as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(written: &[&str]) -> Result<Chain, String> {
        Chain::new(&written.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_is_inside_the_one_before() {
        let made =
            chain(&["htb rate 100mbit burst 15k", "red limit 37850 ecn", "netem delay 150us"]).expect("it is right");
        let expected = "qdisc add dev r root handle 1: htb default 1\n\
                        class add dev r parent 1: classid 1:1 htb rate 100mbit burst 15k\n\
                        qdisc add dev r parent 1:1 handle 2: red limit 37850 ecn\n\
                        qdisc add dev r parent 2:1 handle 3: netem delay 150us\n";
        assert_eq!(made.batch("r"), expected);
        assert_eq!(made.kinds().collect::<Vec<_>>(), ["htb", "red", "netem"]);
    }

    #[test]
    fn what_is_no_discipline_is_refused() {
        for wrong in ["", "-batch x", "red \"limit\n1\"", "red 'limit"] {
            assert!(chain(&[wrong]).is_err(), "{wrong:?}");
        }
    }
}
