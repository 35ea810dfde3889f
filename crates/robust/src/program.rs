//! Programs: what is computed, over an interface of adding (locally), opening, and drawing or
//! dealing sharings. [`crate::machine::Machine`] runs them, offline and online.

use ostrakon_field::Fp;
use zeroize::Zeroize;

use crate::phase::Phase;
use crate::tape::Tape;

/// What the phase before has brought.
pub enum Given {
    /// Nothing: the program begins.
    Nothing,
    /// Own shares of random values.
    Random {
        /// Of degree t.
        singles: Vec<Fp>,
        /// Of degree t.
        doubles: Vec<Fp>,
        /// Of the values of `doubles`, in degree 2t.
        wide: Vec<Fp>,
    },
    /// Own shares of what each dealer of the phase dealt, in the order of dealers.
    Dealt(Vec<Vec<Fp>>),
    /// Opened values.
    Opened(Vec<Fp>),
}

/// What a program does next. It must be what the next of its phases says.
pub enum Turn<O> {
    /// The next phase is [`Phase::Random`].
    Draw,
    /// The next phase is [`Phase::Deal`]; a dealer gives what it shares.
    Deal(Option<Vec<Fp>>),
    /// The next phase is [`Phase::Open`], of these own shares.
    Open(Vec<Fp>),
    /// That was the last phase.
    Done(O),
    /// A check of what was opened has failed. Programs on checked material never say this.
    Refuse,
}

/// A computation on shares, the same at all members but for their shares.
pub trait Program {
    /// What each member has in the end.
    type Output;

    /// The phases. They depend on public values only, and are fixed when the program is made.
    fn phases(&self) -> Vec<Phase>;

    /// Goes on with what the phase before has brought. `tape` is what a dealer deals from.
    fn next(&mut self, given: Given, tape: &mut Tape) -> Turn<Self::Output>;
}

/// A share of a value, with the arithmetic that needs no message: sums, and products with public
/// values.
#[derive(Clone, Copy)]
#[must_use]
pub struct Share(pub Fp);

impl std::ops::Add for Share {
    type Output = Share;
    fn add(self, other: Share) -> Share {
        Share(self.0 + other.0)
    }
}

impl std::ops::Sub for Share {
    type Output = Share;
    fn sub(self, other: Share) -> Share {
        Share(self.0 - other.0)
    }
}

impl std::ops::Mul<Fp> for Share {
    type Output = Share;
    fn mul(self, factor: Fp) -> Share {
        Share(self.0 * factor)
    }
}

/// A public value as a share of itself: the constant polynomial.
impl From<Fp> for Share {
    fn from(value: Fp) -> Share {
        Share(value)
    }
}

/// Shares of random a, b and of a·b, good for one product.
pub struct Triple {
    pub(crate) a: Fp,
    pub(crate) b: Fp,
    pub(crate) product: Fp,
}

impl Drop for Triple {
    fn drop(&mut self) {
        [&mut self.a, &mut self.b, &mut self.product].into_iter().for_each(Zeroize::zeroize);
    }
}

/// A product on its way (Beaver; the paper's section 2.2): two values are to be opened first.
#[must_use]
pub struct Product {
    triple: Triple,
}

impl Product {
    /// Uses up a triple for x·y; the two shares are to be opened.
    pub fn of(x: Share, y: Share, triple: Triple) -> (Product, [Fp; 2]) {
        let masked = [x.0 - triple.a, y.0 - triple.b];
        (Product { triple }, masked)
    }

    /// The share of x·y, given what was opened.
    pub fn finish(self, [d, e]: [Fp; 2]) -> Share {
        Share(d * e + d * self.triple.b + e * self.triple.a + self.triple.product)
    }
}
