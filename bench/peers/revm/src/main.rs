//! peer-revm runs Candela's benchmark workloads and state tests with revm, so that both can be compared
//! on the same bytes in the same run. It prints one JSON object per line and nothing else on standard
//! output; a result that differs from the stored expectation is an error, not a slow run.

mod crypto;
mod evm;
mod measure;
mod roots;
mod statetest;
mod trie;

use std::process::ExitCode;

const USAGE: &str = "usage: peer-revm COMMAND ...
  evm DIR [--only TEXT] [--min-ms N]      interpreter workloads below DIR
  crypto FILE [--only TEXT] [--min-ms N]  primitives on the inputs in FILE (bench/crypto.json)
  trie N... [--roots FILE]                root of N sorted keys; FILE holds the expected roots
  statetest FILE...                       run state tests, one JSON line per case
  statetest -                             the same; file names come line by line on standard input,
                                          an empty line ends each answer
";

/// What went wrong, in words for a person.
pub type Failure = String;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = args.split_first() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match command.as_str() {
        "evm" => evm::run(rest),
        "crypto" => crypto::run(rest),
        "trie" => trie::run(rest),
        "statetest" => statetest::run(rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("peer-revm: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Splits `args` into operands and the values of the options in `names` (each takes one value).
pub fn parse_args<const N: usize>(
    args: &[String],
    names: [&str; N],
) -> Result<(Vec<String>, [Option<String>; N]), Failure> {
    let mut operands = Vec::new();
    let mut values = [const { None }; N];
    let mut it = args.iter();
    while let Some(arg) = it.next() {
        if let Some(i) = names.iter().position(|name| name == arg) {
            values[i] = Some(it.next().ok_or(format!("{arg} needs a value"))?.clone());
        } else if arg.starts_with("--") {
            return Err(format!("unknown option {arg}"));
        } else {
            operands.push(arg.clone());
        }
    }
    Ok((operands, values))
}

/// The value of `--min-ms`, 120 when absent.
pub fn parse_min_ms(value: &Option<String>) -> Result<std::time::Duration, Failure> {
    let ms = match value {
        Some(text) => text.parse().map_err(|_| format!("bad --min-ms {text}"))?,
        None => 120,
    };
    Ok(std::time::Duration::from_millis(ms))
}
