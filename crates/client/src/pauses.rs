//! What is drawn, and how often something is tried again.

use ostrakon_crypto::Secret;

use crate::time::Millis;

/// Numbers that nobody else can guess, from one secret.
pub struct Draws {
    seed: Secret,
    drawn: u64,
}

impl Draws {
    /// From a secret that is used for nothing else.
    pub fn new(seed: Secret) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next number.
    pub fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        let place = self.drawn.to_le_bytes();
        self.seed.fill("ostrakon/v1/client/draws", &[&place], &mut bytes);
        self.drawn += 1;
        u32::from_le_bytes(bytes)
    }

    /// The next number from `from` up to, but not, `to`.
    pub fn between(&mut self, from: Millis, to: Millis) -> Millis {
        from + (to - from) * u64::from(self.number()) / (1 << 32)
    }
}

/// The first pause between two attempts, and the longest: pauses double.
const FIRST: Millis = 100;
const LONGEST: Millis = 1_000;

/// Something that is asked of one server until it is done or refused.
#[derive(Debug)]
pub struct Errand {
    state: State,
    pause: Millis,
}

#[derive(Debug, PartialEq)]
enum State {
    /// To be asked for at this time.
    Due(Millis),
    Asked,
    Done,
    Refused,
}

impl Default for Errand {
    fn default() -> Self {
        Self::new()
    }
}

impl Errand {
    /// To be asked for at once.
    pub fn new() -> Self {
        Self { state: State::Due(0), pause: FIRST }
    }

    /// When it is to be asked for next.
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            State::Due(at) => Some(at),
            _ => None,
        }
    }

    /// Whether a server did it.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the server never will.
    pub fn is_refused(&self) -> bool {
        self.state == State::Refused
    }

    /// It is asked for now.
    pub fn asked(&mut self) {
        self.state = State::Asked;
    }

    /// The server did it.
    pub fn done(&mut self) {
        self.state = State::Done;
    }

    /// The server never will.
    pub fn refused(&mut self) {
        self.state = State::Refused;
    }

    /// It is tried again after a pause, which varies, so that many do not ask in step.
    pub fn again(&mut self, now: Millis, draws: &mut Draws) {
        let varied = draws.between(self.pause * 3 / 4, self.pause * 5 / 4);
        self.state = State::Due(now + varied);
        self.pause = (self.pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_second_and_vary() {
        let mut draws = Draws::new(Secret::new([4; 32]));
        let mut errand = Errand::new();
        let mut pauses = Vec::new();
        for _ in 0..40 {
            errand.again(5_000, &mut draws);
            pauses.push(errand.due().unwrap() - 5_000);
        }
        assert!((75..125).contains(&pauses[0]) && (150..250).contains(&pauses[1]), "{pauses:?}");
        assert!(pauses[4..].iter().all(|pause| (750..1_250).contains(pause)), "{pauses:?}");
        assert!(pauses[4..].iter().any(|pause| *pause != pauses[4]));
    }

    #[test]
    fn a_secret_is_drawn_from_in_one_way() {
        let draw = |seed: u8| {
            let mut draws = Draws::new(Secret::new([seed; 32]));
            [(); 8].map(|()| draws.number())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut draws = Draws::new(Secret::new([1; 32]));
        assert!((0..1_000).all(|_| (200..400).contains(&draws.between(200, 400))));
    }
}
