//! Private statistics: what many people report, without anybody learning a single report.
//!
//! * **Parties**: reporters, who make one string of bytes each and may leave; a committee of c
//!   servers ([`ostrakon_authbits`]).
//! * **Adversary**: any c − 1 servers, malicious, with any number of reporters.
//! * **Guarantee**: an answer is right for the numbers that the reporters have put into their
//!   reports, or there is none; nothing else is learnt, if one server is honest. A reporter that
//!   deviates is left out on evidence that anybody can check; a server that deviates ends the run,
//!   and is named to the honest ones where it has lied about a report.
//! * **Assumptions**: those of [`ostrakon_authbits`]; gap-DH on ristretto255, Ed25519.
//! * **Absent**: guaranteed output; evidence for a third person against a server that lied about
//!   its share of a report; a second use of a report whose run broke off.
//!
//! `docs/spec/statistics.md` has the steps. A [`Question`] says what is asked, [`report`] makes and
//! checks what a reporter sends, [`seal`] agrees on which reports there are, [`compute`] answers,
//! [`Budget`] counts what noisy answers cost.

mod answer;
pub mod asked;
mod budget;
mod circuits;
mod committee;
mod compute;
mod group;
mod items;
mod load;
mod opening;
mod question;
pub mod report;
pub mod seal;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Bin, Group, Place};
pub use budget::{Budget, Overspent};
pub use committee::{BadCommittee, Committee, ExchangeKey, MEMBERS, Member};
pub use compute::fault::{Failed, Lie};
pub use compute::intake::{Excluded, verdict};
pub use compute::marks::opening_mark;
pub use compute::plan::Sealed;
pub use compute::{Answered, compute, security, segment_for};
pub use items::Places;
pub use load::Load;
pub use opening::places::{BadPart, Part};
pub use opening::{Evidence, Opening};
pub use question::own::{OwnCircuit, Reads};
pub use question::{
    BadQuestion, CANDIDATES, COUNTERS, Form, GROUPS, Question, Statistic, WIDTH, WIDTH_OF_SQUARES,
};
pub use report::{BadReport, BadValue, Report, Scope, Value};
pub use seal::{Contradiction, Receipt, Seal};
