//! Primitives on the inputs of bench/crypto.json [spec:bench#2]; bench/README.md says what each operation
//! takes and gives.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blst::min_pk::{AggregateSignature, PublicKey, SecretKey, Signature};
use blst::BLST_ERROR;
use revm::precompile::{PrecompileSpecId, Precompiles};
use revm::primitives::{keccak256, Address, Bytes};
use secp256k1::{ecdsa, Message, PublicKey as SecpPublic, SecretKey as SecpSecret, SECP256K1};
use serde::Deserialize;
use serde_json::json;

use crate::measure::measure;
use crate::{parse_args, parse_min_ms, Failure};

/// Domain separation of signatures with the public key in G1, proof of possession scheme.
const DST: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

#[derive(Deserialize)]
struct Case {
    name: String,
    op: String,
    #[serde(default)]
    input: Bytes,
    #[serde(default)]
    len: usize,
    #[serde(default)]
    signers: usize,
    #[serde(default)]
    output: Bytes,
}

type Op = Box<dyn FnMut() -> Result<Vec<u8>, Failure>>;

pub fn run(args: &[String]) -> Result<(), Failure> {
    let (files, [only, min_ms]) = parse_args(args, ["--only", "--min-ms"])?;
    let [file] = files.as_slice() else {
        return Err("crypto: one file expected".into());
    };
    let min_total = parse_min_ms(&min_ms)?;
    let text = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let cases: Vec<Case> = serde_json::from_slice(&text).map_err(|e| format!("{file}: {e}"))?;
    let only = only.unwrap_or_default();
    for case in cases.iter().filter(|case| case.name.contains(&only)) {
        bench(case, min_total).map_err(|why| format!("{}: {why}", case.name))?;
    }
    Ok(())
}

fn bench(case: &Case, min_total: Duration) -> Result<(), Failure> {
    let Some(mut op) = operation(case)? else {
        return Ok(());
    };
    let output = op()?;
    if output != case.output {
        return Err(format!(
            "output {}, want {}",
            Bytes::from(output),
            case.output
        ));
    }
    // The thread clock is a system call: one reading has to stand for some milliseconds of work.
    let mut per_rep = 1u32;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2) {
        op()?;
        per_rep += 1;
    }
    let timing = measure(
        &mut op,
        min_total,
        |_| (),
        |op, ()| {
            for _ in 0..per_rep {
                black_box(op()?);
            }
            Ok(())
        },
    )?;
    let ns = timing.best.as_nanos() as f64 / f64::from(per_rep);
    let mut line = json!({
        "bench": "crypto", "name": case.name, "impl": "revm", "ns": ns, "ops_s": 1e9 / ns,
        "iters": u64::from(timing.iters) * u64::from(per_rep),
    });
    if case.len > 0 && case.signers == 0 {
        line["mb_s"] = json!(case.len as f64 * 1e3 / ns);
    }
    println!("{line}");
    Ok(())
}

/// The bytes 0, 1, … 255, 0, … of the given length.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

/// The operation on the case's input, or None when neither revm nor its libraries have it.
fn operation(case: &Case) -> Result<Option<Op>, Failure> {
    let input = match case.len {
        0 => case.input.to_vec(),
        len => pattern(len),
    };
    if case.signers > 0 {
        return bls_operation(&case.op, case.signers, input).map(Some);
    }
    let address = match case.op.as_str() {
        "keccak256" => return Ok(Some(Box::new(move || Ok(keccak256(&input).to_vec())))),
        "secp256k1_sign" => return secp_sign(&input).map(Some),
        "secp256k1_verify" => return secp_verify(&input).map(Some),
        "ecrecover" => 1,
        "sha256" => 2,
        "ripemd160" => 3,
        "modexp" => 5,
        "bn254_add" => 6,
        "bn254_mul" => 7,
        "bn254_pairing" => 8,
        "blake2f" => 9,
        "kzg_point_evaluation" => 10,
        "p256_verify" => 0x100,
        _ => return Ok(None),
    };
    let spec = if address == 0x100 {
        PrecompileSpecId::OSAKA
    } else {
        PrecompileSpecId::CANCUN
    };
    let place = Address::left_padding_from(&u16::to_be_bytes(address));
    let contract = Precompiles::new(spec)
        .get(&place)
        .ok_or("no such precompile")?;
    // The contract pads the 20-byte hash to a word.
    let skip = if case.op == "ripemd160" { 12 } else { 0 };
    Ok(Some(Box::new(move || {
        let done = contract
            .execute(&input, u64::MAX, 0)
            .map_err(|e| format!("{e:?}"))?;
        Ok(done.bytes[skip..].to_vec())
    })))
}

fn secp_sign(input: &[u8]) -> Result<Op, Failure> {
    let digest: [u8; 32] = input[..32].try_into().map_err(|_| "short input")?;
    let key: [u8; 32] = input[32..64].try_into().map_err(|_| "short input")?;
    let secret = SecpSecret::from_byte_array(key).map_err(|e| e.to_string())?;
    Ok(Box::new(move || {
        let signed = SECP256K1.sign_ecdsa_recoverable(Message::from_digest(digest), &secret);
        let (recovery, compact) = signed.serialize_compact();
        let mut output = compact.to_vec();
        output.push(i32::from(recovery) as u8);
        Ok(output)
    }))
}

fn secp_verify(input: &[u8]) -> Result<Op, Failure> {
    let digest: [u8; 32] = input[..32].try_into().map_err(|_| "short input")?;
    let compact = input[32..96].to_vec();
    let public = [&[4], &input[96..160]].concat();
    Ok(Box::new(move || {
        let signature = ecdsa::Signature::from_compact(&compact).map_err(|e| e.to_string())?;
        let key = SecpPublic::from_slice(&public).map_err(|e| e.to_string())?;
        let message = Message::from_digest(digest);
        SECP256K1
            .verify_ecdsa(message, &signature, &key)
            .map_err(|e| e.to_string())?;
        Ok(vec![1])
    }))
}

/// Secret key of signer i: keccak256("bench-key-i") with its first byte cleared, so below the order.
fn signer(i: usize) -> Result<SecretKey, Failure> {
    let mut scalar = keccak256(format!("bench-key-{i}")).0;
    scalar[0] = 0;
    SecretKey::from_bytes(&scalar).map_err(|e| format!("{e:?}"))
}

fn accept(result: BLST_ERROR) -> Result<Vec<u8>, Failure> {
    match result {
        BLST_ERROR::BLST_SUCCESS => Ok(vec![1]),
        error => Err(format!("{error:?}")),
    }
}

fn bls_operation(op: &str, signers: usize, message: Vec<u8>) -> Result<Op, Failure> {
    let secrets: Vec<SecretKey> = (0..signers).map(signer).collect::<Result<_, _>>()?;
    let publics: Vec<PublicKey> = secrets.iter().map(SecretKey::sk_to_pk).collect();
    let signatures: Vec<Signature> = secrets.iter().map(|s| s.sign(&message, DST, &[])).collect();
    let decode = |bytes: &[u8]| Signature::from_bytes(bytes).map_err(|e| format!("{e:?}"));
    Ok(match op {
        "bls_sign" => Box::new(move || Ok(secrets[0].sign(&message, DST, &[]).to_bytes().to_vec())),
        "bls_verify" => {
            let signature = signatures[0].to_bytes();
            Box::new(move || {
                let signature = decode(&signature)?;
                accept(signature.verify(true, &message, DST, &[], &publics[0], false))
            })
        }
        "bls_key_validate" => {
            let key = publics[0].to_bytes();
            Box::new(move || match PublicKey::key_validate(&key) {
                Ok(_) => Ok(vec![1]),
                Err(error) => Err(format!("{error:?}")),
            })
        }
        "bls_aggregate" => Box::new(move || {
            let all: Vec<&Signature> = signatures.iter().collect();
            let sum = AggregateSignature::aggregate(&all, false).map_err(|e| format!("{e:?}"))?;
            Ok(sum.to_signature().to_bytes().to_vec())
        }),
        "bls_fast_aggregate_verify" => {
            let all: Vec<&Signature> = signatures.iter().collect();
            let sum = AggregateSignature::aggregate(&all, false).map_err(|e| format!("{e:?}"))?;
            let signature = sum.to_signature().to_bytes();
            Box::new(move || {
                let keys: Vec<&PublicKey> = publics.iter().collect();
                let signature = decode(&signature)?;
                accept(signature.fast_aggregate_verify(true, &message, DST, &keys))
            })
        }
        _ => return Err(format!("unknown operation {op}")),
    })
}
