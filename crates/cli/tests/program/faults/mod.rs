//! Real server processes that are killed at every step of an epoch, cut off from each other, denied
//! their disk, and upgraded.
//!
//! In every test participants are `ostrakon say` processes that know nothing of it, and in the end
//! every message that was said is on the board once, on the same board everywhere.
//!
//! `OSTRAKON_NIGHTLY` goes through all victims, and more rounds; `OSTRAKON_SEED` repeats a run's
//! choices, as far as time allows.

mod cut;
mod decide;
mod disk;
mod kill;
mod moment;
mod proxy;
mod records;
mod upgrade;

/// A stream of choices (Marsaglia's xorshift): spread is all that is needed.
struct Choices(u64);

impl Choices {
    fn new() -> Self {
        let seed = std::env::var("OSTRAKON_SEED")
            .ok()
            .map(|seed| seed.parse().expect("OSTRAKON_SEED is a number"));
        let seed = seed.unwrap_or(u64::from(std::process::id()));
        println!("OSTRAKON_SEED={seed} repeats these choices");
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn shuffle<T>(&mut self, of: &mut [T]) {
        for last in (1..of.len()).rev() {
            of.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
