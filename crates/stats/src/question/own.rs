//! Circuits of the asker's own, in Bristol Fashion (`docs/spec/statistics.md`, section 2).

use std::fmt;
use std::sync::Arc;

use ostrakon_authbits::circuit::Circuit;
use ostrakon_authbits::circuit::bristol::{self, Limits, Parsed};
use serde::{Deserialize, Serialize};

/// What a file may demand: the draft carries it, and every member builds it for each report.
const LIMITS: Limits = Limits { bytes: 48 << 10, gates: 1 << 13, wires: 1 << 13, depth: 1 << 10 };
/// Longest output value: what is added up over all reports stays a number of 63 bits.
const VALUE_BITS: usize = 40;

/// What a circuit is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One report. What comes out is added up over all reports, so that it is the same in whatever
    /// order they come, and tells no more of them than how often each number is there.
    Each,
    /// So many reports at once, zero where there are fewer, and then how many there are. It may
    /// tell anything of any one of them.
    All(usize),
}

/// A circuit as its text, read once.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct OwnCircuit {
    text: Arc<str>,
    read: Result<Arc<Parsed>, bristol::Refused>,
}

impl From<String> for OwnCircuit {
    fn from(text: String) -> Self {
        let read = bristol::parse(&text, LIMITS).map(Arc::new);
        Self { text: text.into(), read }
    }
}

impl From<OwnCircuit> for String {
    fn from(circuit: OwnCircuit) -> Self {
        circuit.text.as_ref().to_owned()
    }
}

impl PartialEq for OwnCircuit {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for OwnCircuit {}

impl fmt::Debug for OwnCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a circuit of {} bytes", self.text.len())
    }
}

impl OwnCircuit {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why it is no circuit that can be computed on numbers of `width` bits, if it is none. One
    /// input value is a report. Of several the first ones are reports, and the last one, which may
    /// have another length, is how many there are.
    ///
    /// # Errors
    /// In words.
    pub fn judge(&self, width: usize) -> Result<Reads, String> {
        let parsed = self.read.as_ref().map_err(ToString::to_string)?;
        if parsed.outputs.is_empty() || parsed.outputs.iter().any(|bits| *bits > VALUE_BITS) {
            return Err(format!("it must have output values, of at most {VALUE_BITS} bits each"));
        }
        let (numbers, reads) = match &parsed.inputs[..] {
            [] => return Err("it has no input".into()),
            [one] => (std::slice::from_ref(one), Reads::Each),
            [numbers @ .., count] => {
                if numbers.len() >> (*count).min(63) != 0 {
                    return Err(
                        "its last input value is too short for the number of reports".into()
                    );
                }
                (numbers, Reads::All(numbers.len()))
            }
        };
        match numbers.iter().find(|bits| **bits != width) {
            Some(bits) => Err(format!("it reads numbers of {bits} bits, and reports have {width}")),
            None => Ok(reads),
        }
    }

    /// What it is given; nothing of a text that is no circuit.
    pub fn reads(&self) -> Option<Reads> {
        let parsed = self.read.as_ref().ok()?;
        Some(if parsed.inputs.len() == 1 {
            Reads::Each
        } else {
            Reads::All(parsed.inputs.len().saturating_sub(1))
        })
    }

    /// Bits of each output value; none of a text that is no circuit.
    pub(crate) fn outputs(&self) -> &[usize] {
        self.read.as_ref().map_or(&[], |parsed| &parsed.outputs)
    }

    /// Bits of the number of reports, of a circuit that reads all.
    pub(crate) fn count_bits(&self) -> usize {
        let last = self.read.as_ref().ok().and_then(|parsed| parsed.inputs.last().copied());
        last.unwrap_or(0)
    }

    /// The circuit.
    ///
    /// # Panics
    /// If the text is none.
    pub(crate) fn circuit(&self) -> &Circuit {
        &self.read.as_ref().expect("validated").circuit
    }

    /// Its gates that are not AND gates; none of a text that is no circuit.
    pub(crate) fn free_gates(&self) -> usize {
        self.read.as_ref().map_or(0, |parsed| parsed.circuit.gates() - parsed.circuit.ands())
    }

    /// Its AND gates; none of a text that is no circuit.
    pub(crate) fn ands(&self) -> usize {
        self.read.as_ref().map_or(0, |parsed| parsed.circuit.ands())
    }
}
