//! Private statistics: what many people report, each one number, without anybody learning a single
//! report.
//!
//! * **Parties**: reporters, who share their number among the servers and may leave; a committee of
//!   c servers ([`ostrakon_authbits`]).
//! * **Adversary**: any c − 1 servers, malicious, with any number of reporters.
//! * **Guarantee**: what comes out is right for the shares as the servers hold them, or nothing
//!   does; nothing else about a report is learnt, if one server is honest. A report is a number of
//!   the question's width whatever its sender does.
//! * **Absent**: a server can change a report that it holds a share of, by a difference of its own
//!   choosing (reports carry no MAC yet); complaints, exclusion, noise, a service.
//!
//! `docs/spec/statistics.md` has the steps. A [`Question`] says what is asked, [`report`] makes the
//! shares of a number, [`compute`] answers.

mod answer;
mod compute;
mod question;
mod report;

pub use answer::{Answer, Bin};
pub use compute::{Answered, Failed, Sealed, compute, segment_for};
pub use question::{BadQuestion, Question, Statistic, WIDTH};
pub use report::{Report, report};
