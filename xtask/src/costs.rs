//! `cargo xtask costs`: what the Rust tests cost, each and by suite, in processor time and in time.
//!
//! cargo-nextest runs each test by way of this program, which waits for it and for all that it has
//! left behind, and notes what the kernel then counts for both ([`run_one`]). Processor time is
//! hardly changed by what else the machine does, so two runs can be compared on a busy one, too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use crate::postgres::{self, Postgres};
use crate::{shell, tools};

/// The file to which each test's cost is added.
const FILE: &str = "OSTRAKON_COSTS";
/// The name by which nextest runs this program.
pub const RUNNER: &str = "run-one";
/// The kernel counts processor time for programs in hundredths of a second (proc(5)).
const TICKS: f64 = 100.0;
/// So many tests are listed, the dearest first.
const LISTED: usize = 60;
/// How often, and how long after each other, it is looked whether what a test has left behind has
/// ended: servers end with the test that started them.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// What something costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    tests: u32,
    /// Seconds of processor time.
    processor: f64,
    /// Seconds from beginning to end.
    time: f64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.processor += other.processor;
        self.time += other.time;
    }
}

/// Runs the tests, all or those that `arguments` of nextest choose, and prints what they cost.
///
/// # Errors
/// If the tests cannot be run. Tests that fail are counted like the others.
pub fn run(arguments: &[String]) -> Result<()> {
    let postgres = Postgres::start()?;
    let file = shell::root().join("target/costs");
    File::create(&file).with_context(|| format!("{} cannot be made", file.display()))?;
    let own = std::env::current_exe().context("this program has a path")?;
    let own = own.to_str().context("the project's path is not text")?;
    let runner = toml::Value::Array([own, RUNNER].map(Into::into).to_vec());
    let mut test = shell::program(tools::cargo_nextest()?);
    test.args(["nextest", "run", "--workspace", "--tests", "--config"]);
    test.arg(format!("target.'cfg(all())'.runner = {runner}")).args(arguments);
    test.env(postgres::VARIABLE, postgres.url()).env(FILE, &file);
    let result = shell::run(&mut test);
    let text = fs::read_to_string(&file)?;
    print(&text.lines().filter_map(read).collect::<Vec<_>>());
    result
}

/// Runs one test as nextest asks for it, and adds a line to [`FILE`].
///
/// # Errors
/// If it cannot be started, or its cost cannot be written down.
#[expect(clippy::disallowed_methods, reason = "how long a test took is for the reader's eyes only")]
pub fn run_one(command: &[String]) -> Result<ExitCode> {
    let (program, arguments) = command.split_first().context("nextest names the program")?;
    // Servers whose test has ended are waited for here: otherwise nobody counts what they used.
    set_child_subreaper(Some(getpid()))?;
    let begun = Instant::now();
    let status = Command::new(program).args(arguments).status();
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    let time = begun.elapsed().as_secs_f64();
    let name = arguments.iter().skip_while(|word| *word != "--exact").nth(1);
    if let (Some(file), Some(name)) = (std::env::var_os(FILE), name) {
        wait_for_what_is_left()?;
        let processor = of_children(&fs::read_to_string("/proc/self/stat")?).unwrap_or_default();
        let line = format!("{processor}\t{time:.3}\t{}\t{name}\n", suite(program));
        // Tests that end at the same time do not mix their lines: each is written at once.
        File::options().append(true).open(file)?.write_all(line.as_bytes())?;
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into())
}

fn wait_for_what_is_left() -> Result<()> {
    for _ in 0..LOOKS {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => sleep(PAUSE),
            Err(Errno::CHILD) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Seconds that children used which were waited for: cutime and cstime, fields 16 and 17 (proc(5)).
fn of_children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13).map(|word| word.parse::<u32>().ok());
    let (user, system) = (times.next()??, times.next()??);
    Some((f64::from(user) + f64::from(system)) / TICKS)
}

/// Package and test binary, as nextest names them; the file's name if it does not say.
fn suite(program: &str) -> String {
    let stem = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    let named = || stem.rsplit_once('-').map_or_else(|| stem.to_string(), |(name, _)| name.into());
    std::env::var("NEXTEST_BINARY_ID").unwrap_or_else(|_| named())
}

/// Reads a line of [`FILE`]: suite, test and cost.
fn read(line: &str) -> Option<(&str, &str, Cost)> {
    let mut parts = line.split('\t');
    let (processor, time) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((parts.next()?, parts.next()?, Cost { tests: 1, processor, time }))
}

fn print(costs: &[(&str, &str, Cost)]) {
    let mut suites = BTreeMap::<&str, Cost>::new();
    let mut all = Cost::default();
    for (suite, _, cost) in costs {
        suites.entry(suite).or_default().add(*cost);
        all.add(*cost);
    }
    let mut suites: Vec<_> = suites.into_iter().collect();
    suites.sort_by(|(_, a), (_, b)| b.processor.total_cmp(&a.processor));
    println!("\n{:>9} {:>9} {:>6}  suite", "processor", "time", "tests");
    let row = |name: &str, cost: &Cost| {
        println!("{:>9.1} {:>9.1} {:>6}  {name}", cost.processor, cost.time, cost.tests);
    };
    suites.iter().for_each(|(name, cost)| row(name, cost));
    row("all", &all);
    let mut costs = costs.to_vec();
    let mut list = |by: fn(&Cost) -> f64| {
        costs.sort_by(|(.., a), (.., b)| by(b).total_cmp(&by(a)));
        println!("\n{:>9} {:>9}  test", "processor", "time");
        for (suite, test, cost) in costs.iter().take(LISTED) {
            println!("{:>9.1} {:>9.1}  {suite} {test}", cost.processor, cost.time);
        }
    };
    list(|cost| cost.processor);
    list(|cost| cost.time);
}

#[cfg(test)]
mod tests {
    use super::{of_children, read};

    #[test]
    fn what_children_used_is_read_from_the_kernels_line() {
        let line = "7 (a b) c) S 1 1 1 0 -1 4194304 9 9 9 9 100 20 301 49 20 0";
        assert_eq!(of_children(line), Some(3.5));
        assert_eq!(of_children("7 (x) S 1"), None);
    }

    #[test]
    fn a_tests_cost_is_read_as_it_was_written() {
        let (suite, test, cost) = read("1.25\t0.500\tostrakon::program\tkill::one").unwrap();
        assert_eq!((suite, test, cost.tests), ("ostrakon::program", "kill::one", 1));
        assert!((cost.processor - 1.25).abs() < 1e-9 && (cost.time - 0.5).abs() < 1e-9);
        assert!(read("half a line\t").is_none());
    }
}
