// DuckDB's side of `go run ./testdata/speed --reading DIR`: it makes a log, or sums the columns of one.
//
//   node reading.mjs make DIR ROWS FEATURES DIGITS
//   node reading.mjs sum FILE        prints seconds and the number of columns
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [, , what, path, ...numbers] = process.argv
const base = process.env.DUCKDB ?? process.cwd() // the folder that has node_modules/@duckdb/node-api
const require = createRequire(pathToFileURL(base + '/'))
const { DuckDBInstance } = require('@duckdb/node-api')
const db = await DuckDBInstance.create(':memory:', { threads: process.env.THREADS ?? '2' })
const c = await db.connect()

if (what === 'make') {
  const [rows, features, digits] = numbers
  await c.run('select setseed(0.5)')
  const normal = 'sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())'
  const x = Array.from({ length: +features }, (_, j) => `${+digits < 0 ? normal : `round(${normal}, ${digits})`} as x_${j}`)
  await c.run(`create table raw as select i, floor(random() * 4)::int as action, random() as u, ${x} from range(${rows}) t(i)`)
  await c.run(`create table log as select 'd' || i as decision_id, timestamp '2026-01-01' + to_seconds(i) as timestamp, action,
    case when u < 0.2 + 0.1 * action then 1 else 0 end as reward, 0.25::double as propensity, * exclude (i, action, u) from raw order by i`)
  for (const [ending, format] of [['parquet', 'parquet'], ['csv', 'csv, header'], ['jsonl', 'json']]) {
    await c.run(`copy log to '${path}/log.${ending}' (format ${format})`)
  }
} else {
  const read = { parquet: 'read_parquet', csv: 'read_csv', jsonl: 'read_json' }[path.split('.').pop()]
  const start = process.hrtime.bigint()
  const columns = (await c.runAndReadAll(`describe select * from ${read}('${path}')`)).getRows().filter((r) => /INT|DOUBLE/.test(r[1]))
  await c.runAndReadAll(`select ${columns.map((r) => `sum("${r[0]}")`)} from ${read}('${path}')`)
  console.log(Number(process.hrtime.bigint() - start) / 1e9, columns.length)
}
