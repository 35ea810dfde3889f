//! Reads circuits in Bristol Fashion, <https://nigelsmart.github.io/MPC-Circuits/>.

use super::{Builder, Circuit, MAX_WIRES, Wire};

/// What a file may demand at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub bytes: usize,
    /// Gates.
    pub gates: usize,
    /// Wires.
    pub wires: usize,
    /// AND depth: rounds.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 28, gates: 1 << 23, wires: 1 << 23, depth: 1 << 14 }
    }
}

/// Why a file is refused, and in which line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The text is longer than allowed.
    #[error("the file is too long")]
    Bytes,
    /// A number of gates, wires, inputs or outputs is too large, or the parts do not add up.
    #[error("line {0}: numbers that are too large or do not fit together")]
    Size(usize),
    /// Something else than the format has in this place.
    #[error("line {0}: not Bristol Fashion")]
    Syntax(usize),
    /// A gate reads a wire that nothing has set yet.
    #[error("line {0}: a wire is read before it is set")]
    Unset(usize),
    /// A gate sets a wire that is set already.
    #[error("line {0}: a wire is set twice")]
    SetTwice(usize),
    /// More AND gates after each other than allowed.
    #[error("line {0}: too deep")]
    Depth(usize),
}

/// A circuit with the lengths of its input and output values, in bits.
pub struct Parsed {
    /// The circuit; inputs and outputs one value after the other.
    pub circuit: Circuit,
    /// Bits of each input value.
    pub inputs: Vec<usize>,
    /// Bits of each output value.
    pub outputs: Vec<usize>,
}

/// Lines that are not empty, with their numbers.
struct Lines<'a>(std::iter::Enumerate<std::str::Lines<'a>>);

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<(usize, &'a str)> {
        self.0.by_ref().map(|(i, line)| (i + 1, line)).find(|(_, line)| !line.trim().is_empty())
    }
}

/// A number in decimal digits without sign or leading zeros.
fn number(text: &str, line: usize) -> Result<usize, Refused> {
    let canonical = text == "0" || !text.starts_with('0');
    if text.is_empty() || !canonical || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refused::Syntax(line));
    }
    text.parse().map_err(|_| Refused::Size(line))
}

/// `gates wires`.
fn sizes(lines: &mut Lines, end: usize) -> Result<(usize, [usize; 2]), Refused> {
    let (line, text) = lines.next().ok_or(Refused::Syntax(end))?;
    let mut fields = text.split_whitespace();
    let (Some(gates), Some(wires), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(Refused::Syntax(line));
    };
    Ok((line, [number(gates, line)?, number(wires, line)?]))
}

/// `count v_1 … v_count`, each at least one bit, of which the sum is at most `wires`.
fn values(lines: &mut Lines, end: usize, wires: usize) -> Result<(Vec<usize>, usize), Refused> {
    let (line, text) = lines.next().ok_or(Refused::Syntax(end))?;
    let mut fields = text.split_whitespace();
    let count = number(fields.next().ok_or(Refused::Syntax(line))?, line)?;
    let (mut lengths, mut total) = (Vec::new(), 0usize);
    for field in fields {
        let length = number(field, line)?;
        // It is refused as soon as it is too much, so no more is kept than there are wires.
        total = total.checked_add(length).filter(|sum| *sum <= wires).ok_or(Refused::Size(line))?;
        lengths.push(length);
        if length == 0 || lengths.len() > count {
            return Err(Refused::Size(line));
        }
    }
    if lengths.len() == count { Ok((lengths, total)) } else { Err(Refused::Size(line)) }
}

/// Reads a circuit.
///
/// # Errors
/// [`Refused`]. What is allocated is bounded by the limit of wires.
pub fn parse(text: &str, limits: Limits) -> Result<Parsed, Refused> {
    if text.len() > limits.bytes {
        return Err(Refused::Bytes);
    }
    let end = text.lines().count() + 1;
    let mut lines = Lines(text.lines().enumerate());
    let (line, [gates, wires]) = sizes(&mut lines, end)?;
    // A gate needs a line, so a number of gates that the text cannot hold is refused before
    // anything is allocated for it.
    if gates > limits.gates || wires > limits.wires.min(MAX_WIRES / 2) || gates > text.len() {
        return Err(Refused::Size(line));
    }
    let (inputs, input_bits) = values(&mut lines, end, wires)?;
    let (outputs, output_bits) = values(&mut lines, end, wires)?;
    // Every wire is an input or set by a gate, once.
    if input_bits.checked_add(gates) != Some(wires) {
        return Err(Refused::Size(line));
    }
    let mut reader =
        Reader { builder: Builder::new(input_bits), wires: vec![None; wires], most: limits.depth };
    for i in 0..input_bits {
        reader.wires[i] = Some(reader.builder.input(i));
    }
    for _ in 0..gates {
        let (line, text) = lines.next().ok_or(Refused::Syntax(end))?;
        // No gate has seven fields.
        reader.gate(line, &text.split_whitespace().take(7).collect::<Vec<_>>())?;
    }
    if let Some((line, _)) = lines.next() {
        return Err(Refused::Syntax(line));
    }
    for wire in &reader.wires[wires - output_bits..] {
        reader.builder.open(wire.expect("as many wires are set as there are"));
    }
    Ok(Parsed { circuit: reader.builder.finish(), inputs, outputs })
}

struct Reader {
    builder: Builder,
    wires: Vec<Option<Wire>>,
    most: u32,
}

impl Reader {
    fn read(&self, text: &str, line: usize) -> Result<Wire, Refused> {
        let wire = self.wires.get(number(text, line)?).ok_or(Refused::Size(line))?;
        wire.ok_or(Refused::Unset(line))
    }

    fn set(&mut self, text: &str, wire: Wire, line: usize) -> Result<(), Refused> {
        let place = self.wires.get_mut(number(text, line)?).ok_or(Refused::Size(line))?;
        if place.replace(wire).is_some() {
            return Err(Refused::SetTwice(line));
        }
        if self.builder.depth(wire) > self.most {
            return Err(Refused::Depth(line));
        }
        Ok(())
    }

    fn gate(&mut self, line: usize, fields: &[&str]) -> Result<(), Refused> {
        match *fields {
            ["2", "1", a, b, out, "XOR"] => {
                let (a, b) = (self.read(a, line)?, self.read(b, line)?);
                let wire = self.builder.xor(a, b);
                self.set(out, wire, line)
            }
            ["2", "1", a, b, out, "AND"] => {
                let (a, b) = (self.read(a, line)?, self.read(b, line)?);
                let wire = self.builder.and(a, b);
                self.set(out, wire, line)
            }
            ["1", "1", a, out, "INV" | "NOT"] => {
                let a = self.read(a, line)?;
                let wire = self.builder.not(a);
                self.set(out, wire, line)
            }
            ["1", "1", bit @ ("0" | "1"), out, "EQ"] => {
                let wire = self.builder.constant(bit == "1");
                self.set(out, wire, line)
            }
            ["1", "1", a, out, "EQW"] => {
                let wire = self.read(a, line)?;
                self.set(out, wire, line)
            }
            _ => Err(Refused::Syntax(line)),
        }
    }
}
