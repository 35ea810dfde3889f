//! Boolean circuits, and the interface by which programs make them: XOR, AND, and opening.

pub mod bristol;

use ostrakon_crypto::{Digest, Transcript};

/// Most wires of a circuit, inputs included: 9 bytes each at every party.
pub const MAX_WIRES: usize = 1 << 25;

/// A bit inside a circuit that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Xor(u32, u32),
    And(u32, u32),
    Not(u32),
    Constant(bool),
}

/// A circuit: inputs, gates in an order in which each comes after what it reads, and outputs.
pub struct Circuit {
    inputs: usize,
    gates: Vec<Gate>,
    /// AND gates on the longest way to each wire.
    depths: Vec<u32>,
    outputs: Vec<u32>,
    ands: usize,
}

/// Builds a circuit, gate by gate. Nothing is simplified: what is written is what is computed.
pub struct Builder(Circuit);

impl Builder {
    /// A circuit with `inputs` bits of input.
    ///
    /// # Panics
    /// If they are more than [`MAX_WIRES`].
    pub fn new(inputs: usize) -> Self {
        assert!(inputs <= MAX_WIRES, "at most {MAX_WIRES} wires");
        Self(Circuit {
            inputs,
            gates: Vec::new(),
            depths: vec![0; inputs],
            outputs: Vec::new(),
            ands: 0,
        })
    }

    /// Input bit `i`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn input(&self, i: usize) -> Wire {
        assert!(i < self.0.inputs, "input {i} of {}", self.0.inputs);
        Wire(i as u32)
    }

    fn push(&mut self, gate: Gate) -> Wire {
        let wire = self.0.depths.len();
        assert!(wire < MAX_WIRES, "at most {MAX_WIRES} wires");
        let depth = |wire: u32| self.0.depths[wire as usize];
        let deep = match gate {
            Gate::Xor(a, b) => depth(a).max(depth(b)),
            Gate::And(a, b) => depth(a).max(depth(b)) + 1,
            Gate::Not(a) => depth(a),
            Gate::Constant(_) => 0,
        };
        self.0.ands += usize::from(matches!(gate, Gate::And(..)));
        self.0.gates.push(gate);
        self.0.depths.push(deep);
        Wire(wire as u32)
    }

    /// a ⊕ b: free.
    pub fn xor(&mut self, a: Wire, b: Wire) -> Wire {
        self.push(Gate::Xor(a.0, b.0))
    }

    /// a ∧ b: a triple, and two bits from everybody to everybody.
    pub fn and(&mut self, a: Wire, b: Wire) -> Wire {
        self.push(Gate::And(a.0, b.0))
    }

    /// ¬a: free.
    pub fn not(&mut self, a: Wire) -> Wire {
        self.push(Gate::Not(a.0))
    }

    /// A public bit.
    pub fn constant(&mut self, bit: bool) -> Wire {
        self.push(Gate::Constant(bit))
    }

    /// AND gates on the longest way to a wire.
    pub fn depth(&self, wire: Wire) -> u32 {
        self.0.depths[wire.0 as usize]
    }

    /// Makes a wire the next output.
    pub fn open(&mut self, wire: Wire) {
        self.0.outputs.push(wire.0);
    }

    /// Appends another circuit, gate by gate, on these wires as its inputs. Its outputs, in order.
    ///
    /// # Panics
    /// If it has another number of inputs.
    pub fn include(&mut self, circuit: &Circuit, inputs: &[Wire]) -> Vec<Wire> {
        assert_eq!(inputs.len(), circuit.inputs, "one wire per input");
        let mut wires = inputs.to_vec();
        for gate in &circuit.gates {
            let wire = |wire: u32| wires[wire as usize].0;
            let own = match *gate {
                Gate::Xor(a, b) => Gate::Xor(wire(a), wire(b)),
                Gate::And(a, b) => Gate::And(wire(a), wire(b)),
                Gate::Not(a) => Gate::Not(wire(a)),
                Gate::Constant(bit) => Gate::Constant(bit),
            };
            wires.push(self.push(own));
        }
        circuit.outputs.iter().map(|&wire| wires[wire as usize]).collect()
    }

    /// The circuit.
    pub fn finish(self) -> Circuit {
        self.0
    }
}

impl Circuit {
    /// Bits of input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Bits of output.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Gates of every kind.
    pub fn gates(&self) -> usize {
        self.gates.len()
    }

    /// AND gates: triples that an evaluation uses up.
    pub fn ands(&self) -> usize {
        self.ands
    }

    /// AND gates on the longest way: rounds of an evaluation.
    pub fn depth(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or(0)
    }

    /// AND gates of each depth, from 1 on: what each round of an evaluation opens.
    pub fn and_layers(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.depth() as usize];
        for (gate, depth) in self.gates.iter().zip(&self.depths[self.inputs..]) {
            if let Gate::And(..) = gate {
                sizes[*depth as usize - 1] += 1;
            }
        }
        sizes
    }

    /// Names the circuit, for drafts and records.
    pub fn digest(&self) -> Digest {
        let mut gates = Vec::with_capacity(9 * self.gates.len());
        for gate in &self.gates {
            let (kind, a, b) = match *gate {
                Gate::Xor(a, b) => (0, a, b),
                Gate::And(a, b) => (1, a, b),
                Gate::Not(a) => (2, a, 0),
                Gate::Constant(bit) => (3, u32::from(bit), 0),
            };
            gates.push(kind);
            gates.extend_from_slice(&a.to_le_bytes());
            gates.extend_from_slice(&b.to_le_bytes());
        }
        let outputs: Vec<u8> = self.outputs.iter().flat_map(|wire| wire.to_le_bytes()).collect();
        let mut transcript = Transcript::new("ostrakon/v1/authbits/circuit");
        transcript.number(self.inputs as u64).bulk_field(&gates).bulk_field(&outputs).finish()
    }

    /// The outputs on public inputs, computed without any party.
    ///
    /// # Panics
    /// If the number of inputs is wrong.
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        assert_eq!(inputs.len(), self.inputs, "one bit per input");
        let mut wires = inputs.to_vec();
        for gate in &self.gates {
            let wire = |wire: u32| wires[wire as usize];
            wires.push(match *gate {
                Gate::Xor(a, b) => wire(a) ^ wire(b),
                Gate::And(a, b) => wire(a) & wire(b),
                Gate::Not(a) => !wire(a),
                Gate::Constant(bit) => bit,
            });
        }
        self.outputs.iter().map(|&wire| wires[wire as usize]).collect()
    }

    pub(crate) fn output_wires(&self) -> &[u32] {
        &self.outputs
    }

    /// The gates by AND depth, each with its wire: of each depth first the AND gates, then the
    /// others in an order in which they can be computed.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let mut sizes = vec![0; self.depth() as usize + 1];
        self.depths[self.inputs..].iter().for_each(|depth| sizes[*depth as usize] += 1);
        let ands = std::iter::once(0).chain(self.and_layers());
        let empty = |(ands, all)| Layer {
            ands: Vec::with_capacity(ands),
            free: Vec::with_capacity(all - ands),
        };
        let mut layers: Vec<Layer> = ands.zip(sizes).map(empty).collect();
        for (i, gate) in self.gates.iter().enumerate() {
            let wire = self.inputs + i;
            let layer = &mut layers[self.depths[wire] as usize];
            match *gate {
                Gate::And(a, b) => layer.ands.push((wire as u32, a, b)),
                other => layer.free.push((wire as u32, other)),
            }
        }
        layers
    }
}

/// The gates of one AND depth.
pub(crate) struct Layer {
    /// Output, left and right input.
    pub(crate) ands: Vec<(u32, u32, u32)>,
    pub(crate) free: Vec<(u32, Gate)>,
}
