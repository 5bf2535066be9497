/* memory_page.c - the memory plan of a program as one HTML file.
 *
 * The plan is exact and known before anything runs; the page shows its numbers, not samples. */
#include "watch/memory_page.h"
#include "base/file.h"
#include "base/json.h"

/* clang-format off */
static const char head[] =
"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Memory</title>\n"
"<style>:root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:1.5em;max-width:75em}canvas{width:100%;height:22em;border:1px solid #8888}\n"
"table{border-collapse:collapse;margin:.6em 0}td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #8884}\n"
"td:first-child,th:first-child{text-align:left}.key{display:inline-block;width:.9em;height:.9em;margin:0 .3em 0 1em}</style>\n"
"<h1>Memory of a training step</h1><p id=\"sum\"></p><p id=\"keys\"></p><canvas id=\"c\"></canvas>\n"
"<p>Move over the picture for the tensors of a moment; the peak is shown first.</p><h2 id=\"when\"></h2>\n"
"<div style=\"display:flex;gap:3em;flex-wrap:wrap\"><div><h3>By module</h3><table id=\"layers\"></table></div>\n"
"<div><h3>Largest tensors</h3><table id=\"tensors\"></table></div>\n"
"<div><h3>Kept between steps</h3><table id=\"stored\"></table></div></div><script>const plan=";
static const char tail[] =
";\n"
"const KINDS=['activation','gradient','scratch','input'],COLORS=['#0077bb','#ee7733','#8a8a8a','#009988'];\n"
"const size=b=>b>=1e9?(b/1e9).toFixed(2)+' GB':b>=1e6?(b/1e6).toFixed(2)+' MB':b>=1e3?(b/1e3).toFixed(1)+' kB':b+' B';\n"
"const N=plan.nodes,W=plan.moments.length*N,delta=KINDS.map(()=>new Float64Array(W+1));\n"
"const at=(m,n)=>m*N+Math.max(0,Math.min(n,N-1));\n"
"for(const t of plan.tensors){const d=delta[KINDS.indexOf(t.kind)];\n"
" for(const [m,f,l] of t.spans){d[at(m,f<0?0:f)]+=t.bytes;d[at(m,l<0?N-1:l)+1]-=t.bytes}}\n"
"const sums=delta.map(d=>{const s=new Float64Array(W);let v=0;for(let i=0;i<W;i++)s[i]=v+=d[i];return s});\n"
"const total=new Float64Array(W);let peak=0;for(let i=0;i<W;i++){for(const s of sums)total[i]+=s[i];if(total[i]>total[peak])peak=i}\n"
"const kept=plan.stored.reduce((s,x)=>s+x.bytes,0);\n"
"document.getElementById('sum').textContent='Kept between steps: '+size(kept)+'. For one step: '+size(plan.workspace)+' planned, at most '+size(total[peak]||0)+' in use at once.';\n"
"document.getElementById('keys').innerHTML=KINDS.map((k,i)=>`<span class=key style=\"background:${COLORS[i]}\"></span>${k}`).join('');\n"
"const text=s=>String(s).replace(/[&<>]/g,c=>({'&':'&amp;','<':'&lt;','>':'&gt;'}[c]));\n"
"const table=(id,rows)=>{document.getElementById(id).innerHTML=rows.map(r=>`<tr><td>${text(r[0])}<td>${text(r[1])}</tr>`).join('')};\n"
"const group=(list,key)=>{const g={};for(const x of list)g[key(x)]=(g[key(x)]||0)+x.bytes;return Object.entries(g).sort((a,b)=>b[1]-a[1])};\n"
"const layer=m=>{const p=m.split('.'),i=p.findIndex(x=>/^[0-9]+$/.test(x));return i<0?(m||'(none)'):p.slice(0,i+1).join('.')};\n"
"function show(i){const m=Math.floor(i/N),n=i%N;\n"
" const here=plan.tensors.filter(t=>t.spans.some(([a,f,l])=>a===m&&f<=n&&(l<0||n<=l)));\n"
" document.getElementById('when').textContent=(i===peak?'Peak: ':'')+plan.moments[m].name+', node '+n+': '+size(total[i]);\n"
" table('layers',group(here,t=>layer(t.module)).map(([k,b])=>[k,size(b)]));\n"
" table('tensors',here.slice().sort((a,b)=>b.bytes-a.bytes).slice(0,25).map(t=>[t.name+(t.module?' in '+t.module:''),size(t.bytes)]))}\n"
"table('stored',group(plan.stored,x=>x.kind).map(([k,b])=>[k,size(b)]));\n"
"const c=document.getElementById('c'),g=c.getContext('2d');\n"
/* of moments in which nothing comes or goes, one column; of each column the greatest moment */
"const shown=[];for(let i=0;i<W;i++)if(i%N===0||delta.some(d=>d[i]!==0))shown.push(i);const K=shown.length;\n"
"const called=s=>s.replace(/backward_input, backward_weight(, backward_last)?/,'backward');\n"
"function draw(mark){const r=devicePixelRatio,w=c.width=c.clientWidth*r,h=c.height=c.clientHeight*r,top=(total[peak]||1)*1.1;\n"
" for(let x=0;x<w;x++){let k=Math.floor(x/w*K),i=shown[k];for(const to=Math.floor((x+1)/w*K);k<to&&k<K;k++)if(total[shown[k]]>total[i])i=shown[k];\n"
"  let y=h;KINDS.forEach((k,j)=>{const d=sums[j][i]/top*h;g.fillStyle=COLORS[j];g.fillRect(x,y-d,1,d);y-=d})}\n"
" g.fillStyle=getComputedStyle(document.body).color;g.font=12*r+'px sans-serif';const at=plan.moments.map((m,j)=>shown.indexOf(j*N)/K*w);let free=0;\n"
" plan.moments.forEach((m,j)=>{const n=called(m.name),wide=g.measureText(n).width+8*r,next=j+1<at.length&&at.length<8?at[j+1]:w;\n"
"  g.globalAlpha=.5;g.fillRect(at[j],0,1,h);g.globalAlpha=1;if(at[j]>=free&&at[j]+wide<next+r){g.fillText(n,at[j]+4*r,14*r);free=at[j]+wide}});\n"
" const x=(shown.indexOf(mark)+.5)/K*w;g.beginPath();g.moveTo(x,22*r);g.lineTo(x-5*r,15*r);g.lineTo(x+5*r,15*r);g.fill()}\n"
"c.onmousemove=e=>{const i=shown[Math.min(K-1,Math.max(0,Math.floor(e.offsetX/c.clientWidth*K)))];draw(i);show(i)};\n"
"onresize=()=>draw(peak);draw(peak);show(peak);\n"
"</script></html>\n";
/* clang-format on */

Error *memory_page_write(const Program *p, const char *path)
{
    NewFile f;
    Text plan = { 0 };
    TRY(file_create(path, &f));
    program_memory_json(p, &plan);
    fputs(head, f.stream);
    json_put_in_script(&plan, f.stream);
    fputs(tail, f.stream);
    text_free(&plan);
    return file_commit(&f);
}
