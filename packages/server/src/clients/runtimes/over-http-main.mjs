import { factsOverHttp } from './over-http.mjs';

const client = await import(process.env.CLIENT_URL);
for (const fact of await factsOverHttp(client, `http://127.0.0.1:${process.env.HTTP_PORT}`)) console.log(fact);
