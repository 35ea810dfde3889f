use ostrakon_bench::control::Program;
use ostrakon_bench::{epoch, measurement, party, shuffle};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "party") {
        return party::run();
    }
    let number = |i: usize, default: u32| arguments.get(i).map_or(default, |a| a.parse().expect("a number"));
    let program = Program { path: std::env::current_exe()?, arguments: vec!["party".into()] };
    if arguments.first().is_some_and(|a| a == "epoch") {
        let options = epoch::Options { clients: number(1, 100_000), payload: number(2, 144), runs: number(3, 3) };
        print!("{}", measurement::table(&epoch::run(options, &program, |_| {})?));
        return Ok(());
    }
    let measured = shuffle::run(
        shuffle::Options { rows: number(0, 1_000_000), width: number(1, 32), runs: number(2, 5) },
        &program,
        |_| {},
    )?;
    print!("{}", measurement::table(&measured));
    Ok(())
}
